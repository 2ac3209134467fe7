import { addressOf, type Guide } from '../guides/guides.ts';
import { type Block, inline, plainText } from '../guides/markdown.ts';
import { copyButton, copyScripts } from '../pages/form.ts';
import { type Html, html } from '../pages/html.ts';
import type { Page } from '../pages/page.ts';
import type { View } from '../pages/view.ts';
import { type Contents, navigation, overviewPath } from './contents.ts';

export function guidePage(view: View, contents: Contents, guide: Guide): Page {
  const above = contents.guides.find(({ path }) => path === overviewPath(guide));
  return {
    title: guide.title,
    aside: { home: '/developer', content: navigation(view, contents, overviewPath(guide)) },
    scripts: copyScripts,
    content: html`${above !== guide && above && html`<nav class="above" aria-label="${view.t('layout.above')}"><ol><li><a href="${above.path}" lang="en">${above.title}</a></li></ol></nav>\n`}<article lang="en">
${guide.blocks.map((block, place) => blockOf(view, guide, block, place))}</article>`,
  };
}

/** Headings of documents and of pages are both of level 1 to 6. */
const headings: Readonly<Record<number, (block: Block & { kind: 'heading' }, text: Html) => Html>> = {
  1: ({ id }, text) => html`<h1 id="${id}">${text}</h1>\n`,
  2: ({ id }, text) => html`<h2 id="${id}">${text}</h2>\n`,
  3: ({ id }, text) => html`<h3 id="${id}">${text}</h3>\n`,
};

/** @param place of the block in its guide, for the id of what can be copied. */
function blockOf(view: View, { folder }: Guide, block: Block, place: number): Html {
  const marked = (text: string) => inline(text, (href) => addressOf(folder, href));
  switch (block.kind) {
    case 'heading':
      return headings[Math.min(block.level, 3)]!(block, marked(block.text));
    case 'paragraph':
      return html`<p>${marked(block.text)}</p>\n`;
    case 'code':
      return html`<textarea id="code-${place}" class="code" rows="${block.text.split('\n').length}" readonly spellcheck="false" wrap="off" aria-label="${view.t('reference.code')}">
${block.text}</textarea>
${copyButton(view, `code-${place}`)}\n`;
    case 'list': {
      const items = block.items.map((item) => html`<li>${marked(item)}</li>\n`);
      return block.isOrdered ? html`<ol>\n${items}</ol>\n` : html`<ul>\n${items}</ul>\n`;
    }
    case 'table': {
      const labels = block.header.map(plainText);
      return html`<table>
<thead><tr>${block.header.map((cell) => html`<th scope="col">${marked(cell)}</th>`)}</tr></thead>
<tbody>${block.rows.map(
        (cells) =>
          html`<tr>${cells.map((cell, column) => html`<td data-label="${labels[column]}">${marked(cell)}</td>`)}</tr>\n`,
      )}</tbody>
</table>\n`;
    }
  }
}
