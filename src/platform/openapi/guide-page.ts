import { type Guide, renderGuide } from '../guides/guides.ts';
import type { Cell, Surroundings } from '../guides/markdown.ts';
import { copyButton, copyScripts } from '../pages/form.ts';
import { Html, html } from '../pages/html.ts';
import type { Page } from '../pages/page.ts';
import type { View } from '../pages/view.ts';
import { type Contents, guideNavigation, indexOf, searchForm } from './contents.ts';

export async function guidePage(view: View, contents: Contents, guide: Guide): Promise<Page> {
  const isIndex = guide === indexOf(contents);
  const article = Html.trusted(await renderGuide(guide, contents.issuer, looks(view)));
  return {
    title: guide.title,
    aside: { home: '/developer', content: guideNavigation(view, contents, guide) },
    scripts: copyScripts,
    content: html`${isIndex && searchForm(view, '')}<article lang="en">
${article}</article>`,
  };
}

const looks = (view: View): Pick<Surroundings, 'code' | 'table'> => ({
  code: (text, place) =>
    html`<textarea id="code-${place}" class="code" rows="${text.split('\n').length}" readonly spellcheck="false" wrap="off" aria-label="${view.t('reference.code')}">
${text}</textarea>
${copyButton(view, `code-${place}`)}\n`.toString(),
  table: (header, rows) => tableOf(header, rows).toString(),
});

/** On a narrow screen each cell is a line behind the name of its column. */
function tableOf(header: readonly Cell[], rows: readonly (readonly Cell[])[]): Html {
  const labels = header.map(({ content }) => content.replaceAll(/<[^>]*>/g, ''));
  return html`<table>
<thead><tr>${header.map(({ content }) => html`<th scope="col">${Html.trusted(content)}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells) =>
      html`<tr>${cells.map(({ content }, column) => html`<td data-label="${Html.trusted(labels[column] ?? '')}">${Html.trusted(content)}</td>`)}</tr>\n`,
  )}</tbody>
</table>\n`;
}
