import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import { Marked, type Tokens } from 'marked';

export const root = join(import.meta.dirname, '../..');

/** Besides those of `docs/`. */
const furtherPages = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['packages/verify/README.md', 'packages/verify/CHANGELOG.md', 'bench/README.md'],
];

export type Section = { id: string; heading: string; text: string };

export type Page = {
  /** From the root of the repository: `docs/install.md`. */
  source: string;
  /** From the root of the site: `install.html`. */
  path: string;
  title: string;
  html: string;
  /** Each begins with a heading; the first one is the page's own. */
  sections: Section[];
};

const sources = (): string[] =>
  [...globSync('docs/**/*.md', { cwd: root }).map((path) => path.replaceAll('\\', '/')), ...furtherPages].sort();

/** Where a file of the repository is in the site: those of `docs/` at its root, all others in a folder. */
export function sitePath(source: string): string {
  const path = source.startsWith('docs/') ? source.slice('docs/'.length) : `repository/${source}`;
  return path.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');
}

export const relative = (from: string, to: string): string => posix.relative(posix.dirname(from), to);

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** What a reader sees of it. */
const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** `files`: pictures, and whatever else pages link to. `faults`: sentences about links that lead nowhere. */
type Rendered = { pages: Page[]; files: ReadonlySet<string>; faults: string[] };

/** The links are those of the Markdown, which a forge follows as well. */
export function renderPages(): Rendered {
  const files = new Set<string>();
  const faults: string[] = [];
  const all = sources();
  const pages = all.map((source): Page => {
    const html = render(source, (href) => {
      const resolved = resolve(source, href);
      if (resolved === undefined) faults.push(`${source}: there is no ${href}`);
      else if (resolved.file?.endsWith('.md') && !all.includes(resolved.file))
        faults.push(`${source}: ${href} is no page`);
      else if (resolved.file !== undefined && !all.includes(resolved.file)) files.add(resolved.file);
      return resolved?.to;
    });
    const sections = sectionsOf(html);
    const [first] = sections;
    return { source, path: sitePath(source), title: first?.heading ?? '', html, sections };
  });
  return { pages, files, faults };
}

/**
 * @returns the address within the site, and the file of the repository that has to be there; no address for a folder of
 * code, which is in a clone alone; undefined if there is no such file.
 */
function resolve(source: string, href: string): { to?: string; file?: string } | undefined {
  if (/^[a-z]+:/i.test(href) || href.startsWith('#')) return { to: href };
  const [path = '', anchor] = href.split('#');
  const file = posix.join(posix.dirname(source), decodeURI(path));
  if (file.startsWith('..') || !existsSync(join(root, file))) return undefined;
  if (statSync(join(root, file)).isDirectory()) return {};
  return { to: relative(sitePath(source), sitePath(file)) + (anchor === undefined ? '' : `#${anchor}`), file };
}

function render(source: string, linkTo: (href: string) => string | undefined): string {
  const slugger = new GithubSlugger();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        return `<h${depth} id="${slugger.slug(plain(html))}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const to = linkTo(href);
        return to === undefined ? html : `<a href="${escapeHtml(to)}">${html}</a>`;
      },
      image: ({ href, text }) =>
        `<img src="${escapeHtml(linkTo(href) ?? '')}" alt="${escapeHtml(text)}" loading="lazy">`,
      // What may be wider than a phone scrolls by itself, by keyboard, too.
      table({ header, rows }) {
        const line = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens, align }) => `<${tag}${align ? ` class="${align}"` : ''}>${this.parser.parseInline(tokens)}</${tag.slice(0, 2)}>`).join('')}</tr>\n`;
        const head = header.some(({ text }) => text !== '') ? `<thead>${line(header, 'th scope="col"')}</thead>\n` : '';
        return `<div class="scroll" tabindex="0"><table>\n${head}<tbody>\n${rows.map((row) => line(row, 'td')).join('')}</tbody></table></div>\n`;
      },
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}\n</code></pre>\n`,
      html: ({ text }) => (text.startsWith('<!--') ? '' : text),
    },
  });
  return marked.parse(readFileSync(join(root, source), 'utf8'), { async: false });
}

function sectionsOf(html: string): Section[] {
  const [, ...parts] = html.split(/<h[1-6] id="([^"]*)">([\s\S]*?)<\/h[1-6]>/);
  return parts.flatMap((id, index) => {
    if (index % 3 !== 0) return [];
    const [heading = '', text = ''] = parts.slice(index + 1);
    const apart = text.replaceAll(/<\/(?:t[dh]|li|p|pre)>/g, ' '); // two cells are no word
    return [{ id, heading: plain(heading), text: plain(apart).replaceAll(/\s+/g, ' ').trim() }];
  });
}
