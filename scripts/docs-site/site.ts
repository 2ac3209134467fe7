import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import MiniSearch from 'minisearch';
import { escapeHtml, type Page, relative, renderPages, root, sitePath } from './pages.ts';
import { type Found, searchOptions } from './search-options.ts';

const start = 'docs/README.md';
const icon = 'src/platform/pages/assets/signet.svg';

type Entry = { heading: string; pages: Page[] };

/** @param out the folder, which is made anew. @returns how many pages there are. @throws if a link leads nowhere. */
export async function writeSite(out: string): Promise<number> {
  const { pages, files, faults } = renderPages();
  const navigation = navigationIn(pages);
  const inOrder = navigation.flatMap((entry) => entry.pages);
  const unreachable = pages.filter(({ source }) => !parentIn(inOrder, source));
  faults.push(...unreachable.map(({ source }) => `${source}: ${start} does not lead to it`));
  if (faults.length > 0) throw new Error(`The documentation cannot be built:\n${faults.join('\n')}`);

  rmSync(out, { recursive: true, force: true });
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), content);
  };
  for (const page of pages) write(page.path, documentOf(page, navigation));
  for (const file of files) {
    const to = join(out, sitePath(file));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(root, file), to);
  }
  cpSync(join(root, icon), join(out, 'site/icon.svg'));
  cpSync(join(import.meta.dirname, 'site.css'), join(out, 'site/site.css'));
  write('site/search-index.js', `globalThis.searchIndex = ${JSON.stringify(indexOf(pages))};\n`);
  await build({
    entryPoints: [join(import.meta.dirname, 'search.ts')],
    outfile: join(out, 'site/search.js'),
    bundle: true,
    minify: true,
    format: 'iife', // a module is not loaded from a file
    logLevel: 'warning',
  });
  return pages.length;
}

/** The headings and links of {@link start}, which is first itself. */
function navigationIn(pages: readonly Page[]): Entry[] {
  const first = pages.find(({ source }) => source === start)!;
  const [, ...parts] = first.html.split(/<h2 [^>]*>(.*)<\/h2>/);
  const entries: Entry[] = [{ heading: '', pages: [first] }];
  for (let at = 0; at < parts.length; at += 2) {
    const linked = [...(parts[at + 1] ?? '').matchAll(/<li><a href="([^"#]*)"/g)].map(([, path]) => path);
    const found = linked.flatMap((path) => pages.find((page) => page.path === path) ?? []);
    entries.push({ heading: parts[at] ?? '', pages: found });
  }
  return entries;
}

/** The page of the navigation under which another one is: itself, or the first page of its folder. */
function parentIn(inOrder: readonly Page[], source: string): Page | undefined {
  const folder = `${dirname(source)}/README.md`;
  return (
    inOrder.find((page) => page.source === source) ??
    inOrder.find((page) => page.source === folder && folder !== start && folder !== './README.md')
  );
}

function documentOf(page: Page, navigation: readonly Entry[]): string {
  const to = (path: string) => escapeHtml(relative(page.path, path));
  const inOrder = navigation.flatMap((entry) => entry.pages);
  const parent = parentIn(inOrder, page.source);
  const link = ({ path, title }: Page) => `<a href="${to(path)}">${escapeHtml(title)}</a>`;
  const lists = navigation.map(({ heading, pages }) => {
    const items = pages.map((one) => {
      const current = one === page ? ' aria-current="page"' : one === parent ? ' aria-current="true"' : '';
      return `<li><a href="${to(one.path)}"${current}>${escapeHtml(one.title)}</a></li>`;
    });
    return `${heading && `<h2>${heading}</h2>\n`}<ul>\n${items.join('\n')}\n</ul>`;
  });
  const parts = page.sections.slice(1).filter(({ id }) => page.html.includes(`<h2 id="${id}">`));
  const onThisPage =
    parts.length < 4 || page.source === start
      ? ''
      : `<details class="parts"><summary>On this page</summary><ul>\n${parts.map(({ id, heading }) => `<li><a href="#${id}">${escapeHtml(heading)}</a></li>`).join('\n')}\n</ul></details>\n`;
  const at = inOrder.indexOf(page);
  const [before, after] = at < 0 ? [parent, undefined] : [inOrder[at - 1], inOrder[at + 1]];
  const neighbours = [before && `<span>← ${link(before)}</span>`, after && `<span>${link(after)} →</span>`];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)}${page.source === start ? '' : ' – Signet'}</title>
<link rel="icon" href="${to('site/icon.svg')}">
<link rel="stylesheet" href="${to('site/site.css')}">
<script src="${to('site/search.js')}" data-root="${to('index.html').replace(/index\.html$/, '')}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="brand" href="${to('index.html')}"><img src="${to('site/icon.svg')}" alt="" width="24" height="24">Signet documentation</a>
<search hidden><label for="search">Search</label><input id="search" type="search" autocomplete="off" spellcheck="false"></search>
<button type="button" popovertarget="contents">Contents</button>
</header>
<nav id="contents" aria-label="Contents" popover>
${lists.join('\n')}
</nav>
<main id="main" tabindex="-1">
<div id="results" hidden></div>
<article>
${page.html.replace('</h1>\n', `</h1>\n${onThisPage}`)}</article>
<nav class="neighbours" aria-label="Neighbouring pages">${neighbours.filter(Boolean).join('\n')}</nav>
</main>
</body>
</html>
`;
}

function indexOf(pages: readonly Page[]): unknown {
  const index = new MiniSearch<Found>(searchOptions);
  for (const { path, title, sections, source } of pages) {
    for (const { id, heading, text } of sections) {
      const isPage = heading === title;
      const about = source.replace(/^docs\//, '').replace(/\/.*$/, '');
      index.add({ id: isPage ? path : `${path}#${id}`, title, heading: isPage ? '' : heading, text, about });
    }
  }
  return index.toJSON();
}
