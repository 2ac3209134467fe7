import GithubSlugger from 'github-slugger';
import { Marked, type RendererObject } from 'marked';
import { html } from '../pages/html.ts';

/** Markup of a cell, and where it stands in its column. */
export type Cell = { readonly content: string; readonly align: 'center' | 'left' | 'right' | null };

/** What differs from one place to another where documentation is read. All that is given and returned is markup, except a code's text. */
export type Surroundings = {
  /** @returns the address, or undefined where it leads to what is not here: then the link's text stands alone. */
  linkTo(href: string): string | undefined;
  /** @returns the address, or undefined where the picture is not here. */
  pictureAt(href: string): string | undefined;
  /** @param place of the block among those of its page, from 0. */
  code(text: string, place: number): string;
  table(header: readonly Cell[], rows: readonly (readonly Cell[])[]): string;
};

/** From a heading to the next one, in plain text. The first is that of the whole page. */
export type Section = { readonly id: string; readonly heading: string; readonly text: string };

/** @param markdown of a file of this repository: what it has of HTML is trusted. Headings have the anchors that a forge gives them. */
export function renderMarkdown(markdown: string, { linkTo, pictureAt, code, table }: Surroundings): string {
  const slugger = new GithubSlugger();
  let codes = 0;
  const renderer: RendererObject = {
    heading({ tokens, depth }) {
      const content = this.parser.parseInline(tokens);
      return `<h${depth} id="${slugger.slug(plainText(content))}">${content}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const content = this.parser.parseInline(tokens);
      const to = linkTo(href);
      return to === undefined ? content : `<a href="${escaped(to)}">${content}</a>`;
    },
    image({ href, text }) {
      const at = pictureAt(href);
      return at === undefined ? '' : `<img src="${escaped(at)}" alt="${escaped(text)}" loading="lazy">`;
    },
    table({ header, rows }) {
      const cells = (all: typeof header) =>
        all.map(({ tokens, align }) => ({ content: this.parser.parseInline(tokens), align }));
      return table(cells(header), rows.map(cells));
    },
    code: ({ text }) => code(text, codes++),
    html: ({ text }) => (text.startsWith('<!--') ? '' : text),
  };
  return new Marked({ renderer }).parse(markdown, { async: false });
}

/** For text, and for quoted attributes. */
const escaped = (text: string): string => html`${text}`.toString();

/** What a reader sees of markup that {@link renderMarkdown} made. */
const plainText = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

export function sectionsOf(markup: string): Section[] {
  const [, ...parts] = markup.split(/<h[1-6] id="([^"]*)">([\s\S]*?)<\/h[1-6]>/);
  return parts.flatMap((id, index) => {
    if (index % 3 !== 0) return [];
    const [heading = '', text = ''] = parts.slice(index + 1);
    const apart = text.replaceAll(/<\/(?:t[dh]|li|p|pre|textarea)>/g, ' '); // two cells are no word
    return [{ id, heading: plainText(heading), text: plainText(apart).replaceAll(/\s+/g, ' ').trim() }];
  });
}

/** Of the first paragraph. */
export function firstSentence(markup: string): string {
  const [, paragraph = ''] = /<p>([\s\S]*?)<\/p>/.exec(markup) ?? [];
  return /^[\s\S]*?[.:](?=\s|$)/.exec(plainText(paragraph))?.[0].replace(/:$/, '.') ?? '';
}
