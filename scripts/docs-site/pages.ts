import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type Cell, renderMarkdown, type Section, sectionsOf } from '../../src/platform/guides/markdown.ts';

export const root = join(import.meta.dirname, '../..');

/** Besides those of `docs/`. */
const furtherPages = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['packages/verify/README.md', 'packages/verify/CHANGELOG.md'],
  ...['bench/README.md', 'test/conformance/README.md'],
];

export type Page = {
  /** From the root of the repository: `docs/install.md`. */
  source: string;
  /** From the root of the site: `install.html`. */
  path: string;
  title: string;
  html: string;
  /** Each begins with a heading; the first one is the page's own. */
  sections: readonly Section[];
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

const render = (source: string, linkTo: (href: string) => string | undefined): string =>
  renderMarkdown(readFileSync(join(root, source), 'utf8'), {
    linkTo,
    pictureAt: linkTo,
    code: (text) => `<pre tabindex="0"><code>${escapeHtml(text)}\n</code></pre>\n`,
    // What may be wider than a phone scrolls by itself, by keyboard, too.
    table(header, rows) {
      const line = (cells: readonly Cell[], tag: string) =>
        `<tr>${cells.map(({ content, align }) => `<${tag}${align ? ` class="${align}"` : ''}>${content}</${tag.slice(0, 2)}>`).join('')}</tr>\n`;
      const head = header.some(({ content }) => content !== '')
        ? `<thead>${line(header, 'th scope="col"')}</thead>\n`
        : '';
      return `<div class="scroll" tabindex="0"><table>\n${head}<tbody>\n${rows.map((row) => line(row, 'td')).join('')}</tbody></table></div>\n`;
    },
  });
