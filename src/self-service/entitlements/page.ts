import { accountTab } from '../../authentication/account-tab.ts';
import { type Entitlement, nameOfKey } from '../../entitlements/entitlement.ts';
import { html } from '../../platform/pages/html.ts';
import { itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

export const entitlementsPage = (view: View, entitlements: readonly Entitlement[]): Page => ({
  title: view.plain('entitlements.title'),
  tab: accountTab('entitlements'),
  content: html`<h1>${view.t('entitlements.title')}</h1>
<p class="soft">${view.t('entitlements.intro')}</p>
${itemsOr(
  entitlements.map((entitlement) => item(view, entitlement)),
  view.t('entitlements.none'),
)}`,
});

const item = (view: View, { product, plan, status, current_period_end }: Entitlement) => html`<li><div>
<h2><bdi>${nameOfKey(product)}</bdi> <span class="badge${status === 'active' ? '' : ' warn'}">${view.t(`entitlements.status.${status}`)}</span></h2>
<p><bdi>${nameOfKey(plan)}</bdi>${
  current_period_end !== null && html` · ${view.t('entitlements.period_end', { day: view.day(current_period_end) })}`
}</p>
</div></li>`;
