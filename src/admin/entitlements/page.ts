import { entitlementStatuses, nameOfKey } from '../../entitlements/entitlement.ts';
import type { EntitlementFilter } from '../../entitlements/find-entitlements.ts';
import type { HeldEntitlement } from '../../entitlements/statements.ts';
import { type Html, html, type Renderable, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { personInitials } from '../../platform/pages/initials.ts';
import { emptyList, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, linkToServices } from '../components.ts';
import { statusBadge } from '../users/entitlement-history.ts';

const path = '/admin/entitlements';

type EntitlementList = {
  filter: EntitlementFilter;
  entitlements: readonly HeldEntitlement[];
  next: string | undefined;
  /** Those that some service credential may write, to choose from. */
  products: readonly string[];
  /** A plan that was typed without a product. */
  leftOut: string | undefined;
};

export const entitlementsPage = (view: View, list: EntitlementList): Page => ({
  title: view.plain('admin.entitlements.title'),
  tab: adminTab('admin_entitlements'),
  content: html`<h1>${view.t('admin.entitlements.title')}</h1>
<p class="soft">${view.t('admin.entitlements.intro')}</p>
${filterForm(view, list)}
${list.leftOut && html`<p class="advice" id="plan-left-out">${view.t('problem.entitlement.plan')}</p>`}
${list.entitlements.length === 0 ? nothing(view, list.filter) : entitlementTable(view, list.entitlements)}
${pager(view, { id: 'entitlements-more', next: list.next, label: view.t('admin.entitlements.more'), pathTo: (at) => pathWith(path, { ...list.filter, ...at }) })}
<p class="actions"><a href="${pathWith(`${path}/export`, list.filter)}" id="entitlements-export">${view.t('admin.entitlements.export')}</a></p>`,
});

/** A page with more of them would be too heavy. Any other one can be typed. */
const maxSuggested = 200;

const filterForm = (
  view: View,
  { filter, products, leftOut }: EntitlementList,
): Html => html`<form method="get" action="${path}" class="filters">
<div><label for="product">${view.t('admin.entitlements.product')}</label>
<input id="product" name="product" type="search" list="products" maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="none" value="${filter.product ?? ''}"${products.length > maxSuggested && html` aria-describedby="products-more"`}>
<datalist id="products">${products.slice(0, maxSuggested).map((one) => html`<option value="${one}">${nameOfKey(one)}</option>\n`)}</datalist>${
  products.length > maxSuggested &&
  html`
<p class="hint" id="products-more">${view.t('admin.entitlements.products_more', { suggested: maxSuggested, all: products.length })}</p>`
}</div>
<div><label for="plan">${view.t('admin.entitlements.plan')}</label>
<input id="plan" name="plan" type="search" maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="none" value="${filter.plan ?? leftOut ?? ''}"></div>
<div><label for="status">${view.t('admin.entitlements.status')}</label>
<select id="status" name="status"><option value="">${view.t('admin.entitlements.status.any')}</option>
${entitlementStatuses.map((one) => html`<option value="${one}"${one === filter.status && html` selected`}>${view.t(`admin.users.entitlements.status.${one}`)}</option>\n`)}</select></div>
<button type="submit" class="quiet" id="entitlements-find">${view.t('admin.entitlements.filter')}</button>
</form>
${isNarrowed(filter) && html`<p class="actions"><a href="${path}" id="entitlements-clear">${view.t('admin.entitlements.clear')}</a></p>`}`;

const isNarrowed = (filter: EntitlementFilter) => Object.values(filter).some((one) => one !== undefined);

const nothing = (view: View, filter: EntitlementFilter): Html =>
  isNarrowed(filter)
    ? emptyList(view.t('admin.entitlements.none.here'))
    : emptyList(view.t('admin.entitlements.none'), linkToServices(view));

const columns = ['user', 'product', 'plan', 'status', 'until', 'changed'] as const;

const entitlementTable = (view: View, entitlements: readonly HeldEntitlement[]): Html => html`<table class="list">
<caption class="unseen">${view.t('admin.entitlements.title')}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col">${view.t(`admin.entitlements.column.${column}`)}</th>`)}</tr></thead>
<tbody>${entitlements.map((one) => entitlementRow(view, one))}</tbody>
</table>`;

/** The name of a product or plan, which narrows the list to it. */
const only = (filter: EntitlementFilter, key: string): Html =>
  html`<a href="${pathWith(path, filter)}">${untrusted(nameOfKey(key))}</a>`;

function entitlementRow(view: View, one: HeldEntitlement): Html {
  const cell = (column: (typeof columns)[number], content: Renderable) =>
    html`<td data-label="${view.plain(`admin.entitlements.column.${column}`)}">${content}</td>`;
  const { user_id, name, email, product, plan, current_period_end } = one;
  return html`<tr><th scope="row"><div class="entry"><span class="initials small" aria-hidden="true">${personInitials(one)}</span>
<div><a href="/admin/users/${user_id}">${untrusted(name ?? email, 254)}</a>${name !== null && html` <span class="soft">${untrustedEmail(email)}</span>`}</div></div></th>
${cell('product', only({ product }, product))}
${cell('plan', only({ product, plan }, plan))}
${cell('status', statusBadge(view, one))}
${cell('until', current_period_end === null ? '–' : view.day(current_period_end))}
${cell('changed', html`<a href="${pathWith(`/admin/users/${user_id}/entitlements`, { product })}">${view.ago(one.updated_at)}</a>`)}</tr>
`;
}
