import { posix } from 'node:path';
import { documentation, listAssets, readAsset } from '../assets.ts';
import { type Block, blocksOf, linksIn, plainText, textsOf } from './markdown.ts';

export type Guide = {
  /** On this server. */
  readonly path: string;
  /** Where links in it begin: `guides/api`. */
  readonly folder: string;
  /** The overview is that of the others in its folder. */
  readonly isOverview: boolean;
  readonly title: string;
  readonly blocks: readonly Block[];
  readonly sections: readonly Section[];
};

/** From a heading to the next one, in plain text. The first is that of the whole guide. */
type Section = { readonly id: string; readonly heading: string; readonly text: string };

export const guidesPath = '/reference/guides';

/** What the documentation calls the server. */
const exampleIssuer = 'https://id.example.com';

/**
 * The guides for developers, which are pages of the documentation, with this server's own address in the examples. The overview of
 * a folder comes first, and the others in the order of its links.
 */
export const readGuides = (issuer: string): readonly Guide[] =>
  Object.keys(documentation).flatMap((folder) => {
    const all = new Map(
      listAssets(folder)
        .filter((name) => name.endsWith('.md'))
        .map((name) => [name, guideOf(`${folder}/${name}`, issuer)]),
    );
    const linked = linksIn(all.get('README.md')?.blocks ?? []).map((href) => href.split('#')[0]!);
    return [...new Set(['README.md', ...linked, ...all.keys()])].flatMap((name) => all.get(name) ?? []);
  });

function guideOf(asset: string, issuer: string): Guide {
  const blocks = blocksOf(readAsset(asset).replaceAll(exampleIssuer, issuer));
  const sections: { id: string; heading: string; text: string }[] = [];
  for (const block of blocks) {
    if (block.kind === 'heading') sections.push({ id: block.id, heading: plainText(block.text), text: '' });
    else sections.at(-1)!.text += `${textOf(block)} `;
  }
  return {
    path: pathOf(asset),
    folder: posix.dirname(asset),
    isOverview: asset.endsWith('/README.md'),
    title: sections[0]!.heading,
    blocks,
    sections,
  };
}

/** `guides/api/webhooks.md` is at `/reference/guides/api/webhooks`. */
const pathOf = (asset: string): string =>
  `${guidesPath}/${asset.replace(/^guides\//, '').replace(/(?:\/README)?\.md$/, '')}`;

/**
 * @param folder of the guide that has the link: `guides/api`.
 * @returns where it leads on this server, or undefined: pages for operators are in the documentation alone.
 */
export function addressOf(folder: string, href: string): string | undefined {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const source = posix.join('src', documentation[folder]!, path);
  const asset = Object.entries(documentation).flatMap(([known, from]) =>
    posix.dirname(source) === posix.join('src', from) ? [`${known}/${posix.basename(source)}`] : [],
  )[0];
  if (!asset?.endsWith('.md')) return undefined;
  return pathOf(asset) + (anchor === undefined ? '' : `#${anchor}`);
}

const textOf = (block: Block): string => (block.kind === 'code' ? block.text : textsOf(block).map(plainText).join(' '));

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
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const ranked = guides.map((guide) => {
    const { title, sections } = guide;
    const named = sections.filter(({ heading }, place) => has(place === 0 ? heading : `${title} ${heading}`));
    const others = sections.filter((section) => has(`${title} ${section.heading} ${section.text}`));
    const isNamed = has(title);
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
  const part = text
    .slice(from, from + 2 * aroundWord)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${from > 0 ? '… ' : ''}${part}${from + part.length < text.trimEnd().length ? ' …' : ''}`;
}
