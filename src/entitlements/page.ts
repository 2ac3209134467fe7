import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import type { View } from '../http/view.ts';
import type { Entitlement } from './list-entitlements.ts';

export const entitlementsPage = (view: View, entitlements: readonly Entitlement[]): Page => ({
  title: view.plain('entitlements.title'),
  tab: 'entitlements',
  content: html`<h1>${view.t('entitlements.title')}</h1>
<p class="soft">${view.t('entitlements.intro')}</p>
${
  entitlements.length === 0
    ? html`<div class="empty"><p>${view.t('entitlements.none')}</p></div>`
    : html`<ul class="items">${entitlements.map(({ product, plan }) => html`<li><div><h2>${product}</h2><p>${plan}</p></div></li>`)}</ul>`
}`,
});
