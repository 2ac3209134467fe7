/** Runs in the pages. Without it everything but the search is there. */
import MiniSearch, { type SearchResult } from 'minisearch';
import { type Found, searchOptions } from './search-options.ts';

declare global {
  var searchIndex: Parameters<typeof MiniSearch.loadJS<Found>>[0] | undefined;
}

const most = 20;
const around = 80;
const root = document.currentScript?.dataset.root ?? '';
const input = document.querySelector<HTMLInputElement>('#search')!;
const results = document.querySelector<HTMLElement>('#results')!;
const article = document.querySelector<HTMLElement>('article')!;
input.closest<HTMLElement>('search')!.hidden = false;

/** By an element, since a page that is a file may not fetch another file. */
const load = () =>
  new Promise<MiniSearch<Found>>((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${root}site/search-index.js`;
    script.onload = () => resolve(MiniSearch.loadJS<Found>(globalThis.searchIndex!, searchOptions));
    script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
    document.head.append(script);
  });
let index: Promise<MiniSearch<Found>> | undefined;

/** Some words of the section, where the first that was found stands. */
function excerpt({ text, terms }: SearchResult & { text: string }): string {
  const found = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at >= 0);
  const at = Math.max(0, Math.min(...found, text.length) - around);
  const from = found.length === 0 || at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const part = text.slice(from, from + 2 * around);
  return `${from > 0 ? '… ' : ''}${part}${from + part.length < text.length ? ' …' : ''}`;
}

function item(result: SearchResult): HTMLLIElement {
  const { id, title, heading } = result as SearchResult & Found;
  const line = document.createElement('li');
  const link = document.createElement('a');
  link.href = root + id;
  link.textContent = heading ? `${title}: ${heading}` : title;
  const text = document.createElement('p');
  text.textContent = excerpt(result as SearchResult & Found);
  line.append(link, text);
  return line;
}

function show(found: readonly SearchResult[]): void {
  const heading = document.createElement('h1');
  heading.textContent = 'Search';
  const said = document.createElement('p');
  said.setAttribute('role', 'status');
  said.textContent =
    found.length === 0 ? 'Nothing was found.' : found.length === 1 ? '1 section' : `${found.length} sections`;
  if (found.length > most) said.textContent += `, of which these ${most} fit best`;
  const list = document.createElement('ul');
  list.append(...found.slice(0, most).map(item));
  results.replaceChildren(heading, said, list);
}

async function search(): Promise<void> {
  const words = input.value.trim();
  results.hidden = words === '';
  article.hidden = words !== '';
  if (words === '') return results.replaceChildren();
  index ??= load();
  const found = (await index).search(words);
  if (words === input.value.trim()) show(found);
}

input.addEventListener('input', () => void search());
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    input.value = '';
    void search();
  } else if (event.key === 'Enter' || event.key === 'ArrowDown') {
    event.preventDefault();
    results.querySelector('a')?.focus(); // the contents would come first
  }
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === input) return;
  event.preventDefault();
  input.focus();
});
