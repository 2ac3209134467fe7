import { posix } from 'node:path';
import { documentation, isDocumentation, listAssets, readAsset, readAssetBytes } from '../assets.ts';
import type { Section, Surroundings } from './markdown.ts';

/** A page of the documentation on this server. */
export type Guide = {
  readonly path: string;
  /** The file, below `src`: `docs/api/webhooks.md`. */
  readonly asset: string;
  readonly title: string;
  readonly lead: string;
  readonly sections: readonly Section[];
  /** {@link sections} as a search reads them: in lower case. */
  readonly searched: readonly { readonly named: string; readonly all: string }[];
};

export const guidesPath = '/docs';

/** What the documentation calls the server. */
const exampleIssuer = 'https://id.example.com';
const textOf = (asset: string, issuer: string) =>
  readAsset(asset).replaceAll(exampleIssuer, issuer).replaceAll(new URL(exampleIssuer).host, new URL(issuer).host);

const isPage = (name: string) => name.endsWith('.md');
/** About the code: they lead to the folders that the program leaves out. */
const isLeftOut = new Set(['docs/architecture.md', 'docs/glossary.md', 'docs/security-requirements.md']);

/** A folder of the documentation, without those in it. */
const filesIn = (folder: string): string[] =>
  listAssets(folder).flatMap((name) =>
    isDocumentation(name) && !isLeftOut.has(`${folder}/${name}`) ? [`${folder}/${name}`] : [],
  );

/** The documentation, with this server's own address in the examples: its first page, then the order of the links there and of the folders. */
export async function readGuides(issuer: string): Promise<readonly Guide[]> {
  const markdown = await import('./markdown.ts'); // few processes are asked for it
  const assets = Object.keys(documentation).flatMap(filesIn).filter(isPage);
  const guides = new Map(assets.map((asset) => [asset, guideOf(markdown, asset, issuer)]));
  const first = partsOfIndex().flatMap((part) => part.assets);
  return [...new Set(['docs/README.md', ...first, ...assets])].flatMap((asset) => guides.get(asset) ?? []);
}

/** The headings of the first page, and what each leads to. */
export function partsOfIndex(): { readonly heading: string; readonly assets: readonly string[] }[] {
  const [, ...parts] = readAsset('docs/README.md').split(/^## (.*)$/m);
  const known = new Set(Object.keys(documentation).flatMap(filesIn));
  return parts.flatMap((heading, at) => {
    if (at % 2 !== 0) return [];
    const linked = [...parts[at + 1]!.matchAll(/\]\(([^)#]+)/g)].map(([, href = '']) =>
      assetOf('docs/README.md', href),
    );
    const assets = linked.filter((asset) => asset !== undefined && known.has(asset)) as string[];
    return assets.length === 0 ? [] : [{ heading, assets }];
  });
}

/** For what is read of a page without showing it. */
const bare: Surroundings = {
  linkTo: () => undefined,
  pictureAt: () => undefined,
  code: (text) => `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>`,
  table: (header, rows) =>
    [header, ...rows].map((cells) => cells.map(({ content }) => `<td>${content}</td>`).join('')).join(''),
};

function guideOf(
  { renderMarkdown, sectionsOf, firstSentence }: typeof import('./markdown.ts'),
  asset: string,
  issuer: string,
): Guide {
  const markup = renderMarkdown(textOf(asset, issuer), bare);
  const sections = sectionsOf(markup);
  const title = sections[0]!.heading;
  return {
    path: pathOf(asset),
    asset,
    title,
    lead: firstSentence(markup),
    sections,
    searched: sections.map(({ heading, text }, place) => ({
      named: (place === 0 ? heading : `${title} ${heading}`).toLowerCase(),
      all: `${title} ${heading} ${text}`.toLowerCase(),
    })),
  };
}

/** @returns markup of a page. @param by how code and tables look here. */
export async function renderGuide(
  { asset }: Guide,
  issuer: string,
  by: Pick<Surroundings, 'code' | 'table'>,
): Promise<string> {
  const { renderMarkdown } = await import('./markdown.ts');
  return renderMarkdown(textOf(asset, issuer), {
    ...by,
    linkTo: (href) => addressOf(asset, href),
    pictureAt: (href) => addressOf(asset, href),
  });
}

const pathOf = (asset: string): string => `/${asset.replace(/(?:\/README)?\.md$/, '')}`;

/** @param href relative to a page, as in a clone. @returns the file below `src`, whether or not the program has it. */
function assetOf(asset: string, href: string): string | undefined {
  const source = posix.join('src', documentation[posix.dirname(asset)]!, href);
  return Object.entries(documentation).flatMap(([folder, from]) =>
    posix.dirname(source) === posix.join('src', from) ? [`${folder}/${posix.basename(source)}`] : [],
  )[0];
}

/** @param href of a link in a page. @returns where it leads from this server; undefined: to what is in a clone alone. */
function addressOf(asset: string, href: string): string | undefined {
  if (/^[a-z]+:/i.test(href) || href.startsWith('#')) return href;
  const [path = '', anchor] = href.split('#');
  const target = assetOf(asset, path);
  if (target === undefined || !filesIn(posix.dirname(target)).includes(target)) return undefined;
  return (isPage(target) ? pathOf(target) : `/${target}`) + (anchor === undefined ? '' : `#${anchor}`);
}

const types: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
};

/** What pages show or offer beside their text: pictures, schemas, the dashboard. @param path on this server. */
export function guideFile(path: string): { readonly type: string; readonly content: Buffer } | undefined {
  const asset = path.slice(1);
  const type = types[posix.extname(asset)];
  const folder = posix.dirname(asset);
  if (type === undefined || !Object.hasOwn(documentation, folder) || !filesIn(folder).includes(asset)) return undefined;
  return { type, content: readAssetBytes(asset) };
}

/** `anchor`: empty for the whole guide. */
export type FoundSection = {
  readonly guide: Guide;
  readonly anchor: string;
  readonly heading: string;
  readonly excerpt: string;
};

const maxFound = 20;
/** So that one guide does not hide the others. */
const maxOfGuide = 2;

/** @param words in lower case. @returns where all of them are found: guides that are named so first, then their sections; `more`: how many are left out. */
export function findSections(
  guides: readonly Guide[],
  words: readonly string[],
): { readonly sections: readonly FoundSection[]; readonly more: number } {
  const has = (text: string) => words.every((word) => text.includes(word));
  const ranked = guides.map((guide) => {
    const { title, sections, searched } = guide;
    const named = sections.filter((_, place) => has(searched[place]!.named));
    const others = sections.filter((_, place) => has(searched[place]!.all));
    const isNamed = has(title.toLowerCase());
    const found = isNamed ? sections.slice(0, 1) : [...new Set([...named, ...others])];
    const matching = found.slice(0, maxOfGuide);
    return {
      found: found.length,
      rank: isNamed ? 0 : named.length > 0 ? 1 : 2,
      matching: matching.map(({ id, heading, text }) => ({
        guide,
        anchor: id === sections[0]!.id ? '' : `#${id}`,
        heading: id === sections[0]!.id ? title : `${title}: ${heading}`,
        excerpt: excerptOf(text, words),
      })),
    };
  });
  const sections = ranked
    .toSorted((one, other) => one.rank - other.rank)
    .flatMap(({ matching }) => matching)
    .slice(0, maxFound);
  return { sections, more: ranked.reduce((sum, { found }) => sum + found, 0) - sections.length };
}

const aroundWord = 80;

/** Some words of the text, where the first of those that were looked for stands. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const at = Math.max(0, Math.min(...found, text.length) - aroundWord);
  const from = found.length === 0 || at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const part = text.slice(from, from + 2 * aroundWord).trim();
  return `${from > 0 ? '… ' : ''}${part}${from + part.length < text.length ? ' …' : ''}`;
}
