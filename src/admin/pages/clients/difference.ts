import { type Client, type ReviewedFields, reviewedFields } from '../../../clients/client.ts';
import { changesOf } from '../../../clients/read-review.ts';
import { foreign, foreignUrl } from '../../../http/foreign-text.ts';
import { type Html, html } from '../../../http/html.ts';
import type { View } from '../../../http/view.ts';

/** What is registered beside what is wanted. Nobody's picture is shown: a logo is an address like the others. */
export const differenceTable = (view: View, client: Client): Html => {
  const wanted = client.pending_change;
  return html`<table class="compare">
<caption>${view.t(wanted === null ? 'admin.diff.caption.plain' : 'admin.diff.caption')}</caption>
<thead><tr><th scope="col">${view.t('admin.diff.field')}</th><th scope="col">${view.t('admin.diff.registered')}</th>${wanted !== null && html`<th scope="col">${view.t('admin.diff.wanted')}</th>`}</tr></thead>
<tbody>${reviewedFields.map((field) => row(view, client, field))}</tbody>
</table>`;
};

function row(view: View, client: Client, field: keyof ReviewedFields): Html {
  const wanted = client.pending_change;
  const isChanged = changesOf(client).some((change) => change.field === field);
  return html`<tr><th scope="row">${view.t(`admin.diff.${field}`)}${isChanged && html` <strong>${view.t('admin.diff.changed')}</strong>`}</th>
<td data-label="${view.plain('admin.diff.registered')}">${shown(view, client[field], isChanged ? asList(wanted?.[field]) : undefined, 'admin.diff.removed')}</td>${
    wanted !== null &&
    html`<td data-label="${view.plain('admin.diff.wanted')}">${isChanged ? shown(view, wanted[field], asList(client[field]), 'admin.diff.added') : view.t('admin.diff.unchanged')}</td>`
  }</tr>
`;
}

type Value = ReviewedFields[keyof ReviewedFields] | undefined;
const asList = (value: Value): readonly string[] =>
  value === null || value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** @param other what stands on the other side: an entry that is missing there is marked with a word. */
function shown(
  view: View,
  value: Value,
  other: readonly string[] | undefined,
  mark: 'admin.diff.added' | 'admin.diff.removed',
) {
  const entries = asList(value);
  if (entries.length === 0) return view.t('admin.none');
  const isList = typeof value !== 'string';
  const text = (entry: string) =>
    html`${entry.includes('://') ? foreignUrl(entry) : html`<code>${foreign(entry)}</code>`}${isList && other && !other.includes(entry) && html` <strong>${view.t(mark)}</strong>`}`;
  return isList
    ? html`<ul class="scopes">${entries.map((entry) => html`<li>${text(entry)}</li>`)}</ul>`
    : text(entries[0]!);
}
