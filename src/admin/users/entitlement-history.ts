import type { User } from '../../accounts/statements.ts';
import { nameOfKey } from '../../entitlements/entitlement.ts';
import type { EntitlementHistory } from '../../entitlements/read-history.ts';
import type { EntitlementVersion, StoredEntitlement } from '../../entitlements/statements.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, entityLink, linkToServices } from '../components.ts';

/** What counts now. The writes that led there have a page of their own. */
export function entitlementSection(view: View, user_id: string, history: EntitlementHistory): Html {
  const { entitlements, versions } = history;
  if (entitlements.length + versions.length === 0) {
    return emptyList(view.t('admin.users.entitlements.none'), linkToServices(view));
  }
  return html`<ul class="items">${entitlements.map((one) => entitlementItem(view, user_id, one))}</ul>
<p><a href="${pathTo(user_id, {})}" id="user-writes">${view.t('admin.users.entitlements.all_writes')}</a></p>`;
}

/** Every write of a user, or those of one product, a page at a time. */
export const entitlementHistoryPage = (
  view: View,
  { user_id, name, email }: User,
  { product, history }: { product: string | undefined; history: EntitlementHistory },
): Page => ({
  title: view.plain('admin.users.entitlements.writes'),
  tab: adminTab('admin_users'),
  above: [{ path: `/admin/users/${user_id}`, label: untrusted(name ?? email) }],
  content: html`<h1>${view.t('admin.users.entitlements.writes')}</h1>
${product !== undefined && html`<p>${view.t('admin.entitlements.product')}: ${untrusted(nameOfKey(product))}</p>`}
${history.versions.length === 0 ? emptyList(view.t('admin.users.entitlements.none')) : writes(view, user_id, history, product)}`,
});

const entitlementItem = (view: View, user_id: string, one: StoredEntitlement) => html`<li><div>
<h3>${untrusted(nameOfKey(one.product))} ${statusBadge(view, one)}</h3>
<p><strong>${untrusted(nameOfKey(one.plan))}</strong> · ${view.t('admin.users.entitlements.version', { version: one.version })} · ${exactTime(one.updated_at)} · ${untrusted(one.source)}</p>
${details(view, one)}
<p><a href="${pathTo(user_id, { product: one.product })}">${view.t('admin.users.entitlements.writes_of', { product: untrusted(nameOfKey(one.product)) })}</a></p>
</div></li>
`;

function writes(view: View, user_id: string, { entitlements, versions, next }: EntitlementHistory, product?: string) {
  const counting = new Map(entitlements.map((one) => [one.product, one.version]));
  return html`<ul class="items">${versions.map((write) => writeItem(view, write, counting.get(write.product) === write.version))}</ul>
${pager(view, {
  id: 'writes-older',
  next,
  label: view.t('admin.users.entitlements.older'),
  cursor: 'before',
  pathTo: (at) => pathTo(user_id, { product, ...at }),
})}`;
}

const writeItem = (view: View, write: EntitlementVersion, counts: boolean) => html`<li><div>
<p>${untrusted(nameOfKey(write.product))}: <strong>${untrusted(nameOfKey(write.plan))}</strong> ${statusBadge(view, write)} ${counts && view.t('admin.users.entitlements.current')}</p>
<p>${view.t('admin.users.entitlements.version', { version: write.version })} · ${exactTime(write.written_at)} · ${untrusted(write.source)} · ${entityLink(
  view,
  write.credential_id,
)}${write.event_id !== null && html` · <code>${untrusted(write.event_id, 255)}</code>`}</p>
${details(view, write)}
</div></li>
`;

const pathTo = (user_id: string, query: Parameters) => pathWith(`/admin/users/${user_id}/entitlements`, query);

export const statusBadge = (view: View, { status }: Pick<StoredEntitlement, 'status'>) =>
  badge(view.t(`admin.users.entitlements.status.${status}`), status === 'active' ? 'good' : 'off');

const longestMetadata = 10_000;

/** The end of the period, and what the source keeps for itself. */
function details(view: View, one: StoredEntitlement | EntitlementVersion): Html {
  const { current_period_end, external_customer_id, external_subscription_id, metadata } = one;
  return html`${current_period_end !== null && html`<p>${view.t('admin.users.entitlements.until', { day: view.day(current_period_end) })}</p>\n`}${
    external_customer_id !== null &&
    html`<p>${view.t('admin.users.entitlements.customer')}: <code>${untrusted(external_customer_id, 255)}</code></p>\n`
  }${
    external_subscription_id !== null &&
    html`<p>${view.t('admin.users.entitlements.subscription')}: <code>${untrusted(external_subscription_id, 255)}</code></p>\n`
  }${
    metadata !== null &&
    html`<details><summary>${view.t('admin.users.entitlements.metadata')}</summary>
<p><code>${visibleText(JSON.stringify(metadata), longestMetadata)}</code></p></details>`
  }`;
}
