import { type Html, html } from '../pages/html.ts';

/**
 * A part of a guide. The texts are Markdown still: {@link inline} renders them. This is as much of CommonMark as the guides use; a
 * test compares every one of them with what a whole implementation reads.
 */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string; readonly id: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'table'; readonly header: readonly string[]; readonly rows: readonly (readonly string[])[] };

const fence = /^```/;
const heading = /^(#{1,6}) (.*)$/;
const item = /^(?:[-*]|\d+\.) +(.*)$/;
const row = /^\|(.*)\|\s*$/;

export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split('\n');
  const blocks: Block[] = [];
  const ids = new Map<string, number>();
  let at = 0;
  /** The lines from here on that belong together. */
  const take = (belongs: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && belongs(lines[at]!)) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const [, marks = '', title = ''] = heading.exec(line) ?? [];
    if (fence.test(line)) {
      at += 1;
      blocks.push({ kind: 'code', text: take((one) => !fence.test(one)).join('\n') });
      at += 1;
    } else if (marks !== '') {
      at += 1;
      blocks.push({ kind: 'heading', level: marks.length, text: title, id: idOf(plainText(title), ids) });
    } else if (item.test(line)) {
      blocks.push(listOf(take((one) => one.trim() !== '')));
    } else if (row.test(line)) {
      const [header = [], , ...rows] = take((one) => row.test(one)).map(cellsOf);
      blocks.push({ kind: 'table', header, rows });
    } else if (line.trim() === '') {
      at += 1;
    } else {
      const isText = (one: string) => one.trim() !== '' && ![fence, heading, item, row].some((mark) => mark.test(one));
      blocks.push({ kind: 'paragraph', text: take(isText).join(' ') });
    }
  }
  return blocks;
}

/** What follows an item's first line, and is no item, continues it. */
function listOf(lines: readonly string[]): Block {
  const items: string[] = [];
  for (const line of lines) {
    const [, text] = item.exec(line) ?? [];
    if (text === undefined) items.push(`${items.pop()} ${line.trim()}`);
    else items.push(text);
  }
  return { kind: 'list', isOrdered: /^\d/.test(lines[0] ?? ''), items };
}

const cellsOf = (line: string): string[] => {
  const [, cells = ''] = row.exec(line) ?? [];
  return cells.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
};

/** As a forge makes it, so that links from page to page lead to the same place in both. */
function idOf(title: string, ids: Map<string, number>): string {
  const id = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
  const times = ids.get(id) ?? 0;
  ids.set(id, times + 1);
  return times === 0 ? id : `${id}-${times}`;
}

const marks =
  /(?<ticks>`+)(?<code>.+?)(?<!`)\k<ticks>(?!`)|\[(?<label>(?:`[^`]*`|[^\]`])*)\]\((?<href>[^)\s]+)\)|<(?<url>https?:[^>\s]+)>|\*\*(?<strong>.+?)\*\*|(?<![\p{L}\p{N}_])_(?<em>[^_].*?)_(?![\p{L}\p{N}_])/gsu;

/** @param linkTo the address of a link, or undefined where it leads to what is not here: then its text stands alone. */
export function inline(text: string, linkTo: (href: string) => string | undefined): Html {
  const parts: (Html | string)[] = [];
  let at = 0;
  for (const { index, 0: whole, groups = {} } of text.matchAll(marks)) {
    parts.push(text.slice(at, index), markOf(groups, linkTo));
    at = index + whole.length;
  }
  return html`${parts}${text.slice(at)}`;
}

function markOf(
  groups: Readonly<Record<string, string | undefined>>,
  linkTo: (href: string) => string | undefined,
): Html {
  const { code, label, href = '', url, strong, em } = groups;
  if (code !== undefined) return html`<code>${code}</code>`;
  if (strong !== undefined) return html`<strong>${inline(strong, linkTo)}</strong>`;
  if (em !== undefined) return html`<em>${inline(em, linkTo)}</em>`;
  if (url !== undefined) return html`<a href="${url}">${url}</a>`;
  const to = linkTo(href);
  return to === undefined ? inline(label ?? '', linkTo) : html`<a href="${to}">${inline(label ?? '', linkTo)}</a>`;
}

/** What a reader sees of a text. */
export const plainText = (text: string): string =>
  text.replaceAll(marks, (...match) => {
    const { code, label, url, strong, em } = match.at(-1) as Record<string, string | undefined>;
    return code ?? url ?? plainText(label ?? strong ?? em ?? '');
  });

/** The texts of a block, which may have marks in them; of code none. */
export function textsOf(block: Block): readonly string[] {
  if (block.kind === 'list') return block.items;
  if (block.kind === 'table') return [...block.header, ...block.rows.flat()];
  return block.kind === 'code' ? [] : [block.text];
}

/** The addresses of all links, in order. */
export const linksIn = (blocks: readonly Block[]): string[] =>
  blocks.flatMap(textsOf).flatMap((text) => [...text.matchAll(marks)].flatMap(({ groups }) => groups?.href ?? []));
