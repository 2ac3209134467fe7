import { type Client, proposalOf, type ReviewedFields, reviewedFields } from '../../clients/client.ts';
import { changesOf, type FieldChange, type LastRejection } from '../../clients/read-review.ts';
import { fieldEntries, fieldText } from '../../developer/clients/field-text.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, looksLikeUrl, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

type Field = keyof ReviewedFields;
type Value = ReviewedFields[Field] | undefined;
type Heading = Extract<MessageKey, `admin.diff.${string}`>;

/** One description, or two beside each other with their differences marked. */
type Compared = {
  caption: Heading;
  left: Heading;
  /** Undefined: there is one description alone, on the left. */
  right: Heading | undefined;
  /** What stands on the left, and on the right where nothing else does. */
  fields: Client;
  changes: readonly FieldChange[];
};

/** What is registered beside what is requested. A logo is shown as its address only. */
export function differenceTable(view: View, client: Client, lastRejection: LastRejection | undefined): Html {
  if (client.pending_change !== null) {
    return comparison(view, {
      caption: 'admin.diff.caption',
      left: 'admin.diff.registered',
      right: 'admin.diff.requested',
      fields: client,
      changes: changesOf(client),
    });
  }
  const isAgain = lastRejection !== undefined && lastRejection.changes.length > 0;
  return comparison(view, {
    caption: isAgain ? 'admin.diff.caption.again' : 'admin.diff.caption.plain',
    left: isAgain ? 'admin.diff.rejected' : 'admin.diff.registered',
    right: isAgain ? 'admin.diff.now' : undefined,
    fields: proposalOf(client),
    changes: lastRejection?.changes ?? [],
  });
}

/** Of two descriptions what differs is shown, and what does not is folded. */
function comparison(view: View, compared: Compared): Html {
  const { right, changes } = compared;
  if (right === undefined) return table(view, compared, reviewedFields);
  const isChanged = (field: Field) => changes.some((one) => one.field === field);
  const changed = reviewedFields.filter(isChanged);
  const unchanged = reviewedFields.filter((field) => !isChanged(field));
  return html`${changed.length > 0 && table(view, compared, changed)}
${
  unchanged.length > 0 &&
  html`<details id="unchanged"><summary>${view.t('admin.diff.unchanged_fields', { count: unchanged.length })}</summary>
${table(view, { ...compared, right: undefined }, unchanged)}</details>`
}`;
}

const table = (view: View, compared: Compared, fields: readonly Field[]): Html => html`<table class="compare">
<caption${compared.right === undefined && html` class="unseen"`}>${view.t(compared.caption)}</caption>
<thead><tr><th scope="col">${view.t('admin.diff.field')}</th><th scope="col">${view.t(compared.left)}</th>${compared.right !== undefined && html`<th scope="col">${view.t(compared.right)}</th>`}</tr></thead>
<tbody>${fields.map((field) => row(view, compared, field))}</tbody>
</table>`;

function row(view: View, { left, right, fields, changes }: Compared, field: Field): Html {
  const change = right === undefined ? undefined : changes.find((one) => one.field === field);
  const before = (change === undefined ? fields[field] : change.before) as Value;
  const after = change?.after as Value;
  // A list is null only where the log kept no more than whether it is the same.
  const isKept = before !== null || !Array.isArray(after);
  const text = (value: Value) => fieldText(view, field, value, fields);
  return html`<tr><th scope="row">${view.t(`clients.field.${field}`)}</th>
<td${right !== undefined && html` data-label="${view.plain(left)}"`}>${isKept ? (text(before) ?? shown(view, before, change && fieldEntries(after), 'admin.diff.removed')) : view.t('admin.diff.not_kept')}</td>${
    right !== undefined &&
    html`<td data-label="${view.plain(right)}">${text(after) ?? shown(view, after, isKept ? fieldEntries(before) : undefined, 'admin.diff.added')}</td>`
  }</tr>
`;
}

/** @param other what stands on the other side: an entry that is missing there is marked with a word. */
function shown(
  view: View,
  value: Value,
  other: readonly string[] | undefined,
  mark: 'admin.diff.added' | 'admin.diff.removed',
) {
  const entries = fieldEntries(value);
  if (entries.length === 0) return view.t('admin.none');
  const isList = typeof value === 'object';
  const text = (entry: string) =>
    html`${looksLikeUrl(entry) ? untrustedUrl(entry) : html`<code>${untrusted(entry)}</code>`}${isList && other && !other.includes(entry) && html` <strong>${view.t(mark)}</strong>`}`;
  return isList
    ? html`<ul class="scopes">${entries.map((entry) => html`<li>${text(entry)}</li>`)}</ul>`
    : text(entries[0]!);
}
