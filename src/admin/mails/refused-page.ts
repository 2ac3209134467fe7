import type { listRefusals, Refusal } from '../../platform/mail/refusals.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { itemsOr, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab } from '../components.ts';

export const refusedPath = '/admin/users/refused-addresses';

export const refusedPage = (view: View, { refusals, next }: Awaited<ReturnType<typeof listRefusals>>): Page => ({
  title: view.plain('admin.refused.title'),
  tab: adminTab('admin_users'),
  content: html`<h1>${view.t('admin.refused.title')}</h1>
<p class="soft">${view.t('admin.refused.intro')}</p>
${itemsOr(
  refusals.map((one) => refusedItem(view, one)),
  view.t('admin.refused.none'),
)}
${pager(view, {
  id: 'refused-older',
  next,
  label: view.t('admin.refused.older'),
  cursor: 'before',
  pathTo: (at) => pathWith(refusedPath, at),
})}`,
});

const refusedItem = (view: View, refusal: Refusal): Html => html`<li><div>
<h2><a href="${pathWith('/admin/users', { q: refusal.email })}">${untrustedEmail(refusal.email)}</a></h2>
${refusalWords(view, refusal)}
</div></li>
`;

/** What the mail server said, how often, and when. */
export const refusalWords = (view: View, { answer, count, last_at }: Refusal): Html =>
  html`<p>${view.t('admin.refused.last', { count, when: view.ago(last_at) })}</p>
<p><code>${untrusted(answer, 500)}</code></p>`;
