import { type KeyRecord, retiringSeconds, rotationPeriodSeconds } from '../../oauth/signing-keys/signing-keys.ts';
import { html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, badge, disclosure, doneNotice } from '../components.ts';

const done = { rotated: 'admin.keys.done.rotated', waiting: 'admin.keys.done.waiting' } as const;
const tones = { active: 'good', next: 'off', retiring: 'off' } as const;

export const keysPage = (view: View, keys: readonly KeyRecord[], query: { done?: string }): Page => ({
  title: view.plain('admin.keys.title'),
  tab: adminTab('admin_keys'),
  content: html`<h1>${view.t('admin.keys.title')}</h1>
<p class="soft">${view.t('admin.keys.intro')}</p>
${doneNotice(view, query, done)}
<ul class="items">${keys.toSorted(asUsed).map((key) => keyItem(view, key))}</ul>
${disclosure(
  view.t('admin.keys.rotate'),
  html`<p class="soft">${view.t('admin.keys.rotate.what')}</p>
<form method="post" action="/admin/keys/rotate"><button type="submit" id="keys-rotate">${view.t('admin.keys.rotate.submit')}</button></form>`,
)}`,
});

const places = ['active', 'next', 'retiring'];

/** Of each algorithm the key that signs, what comes after it, and what came before. */
const asUsed = (one: KeyRecord, other: KeyRecord): number =>
  one.algorithm.localeCompare(other.algorithm) || places.indexOf(one.status) - places.indexOf(other.status);

const keyItem = (view: View, key: KeyRecord) => html`<li><div>
<h2>${key.algorithm} ${badge(view.t(`admin.keys.status.${key.status}`), tones[key.status])}</h2>
<p><code>${key.kid}</code></p>
<p>${life(view, key)}</p>
</div></li>
`;

function life(view: View, key: KeyRecord) {
  if (key.status === 'next') return view.t('admin.keys.published', { when: view.ago(key.created_at) });
  if (key.status === 'retiring') {
    return view.t('admin.keys.retiring', { until: view.ago((key.retired_at ?? 0) + retiringSeconds) });
  }
  return view.t('admin.keys.signing', {
    since: view.ago(key.activated_at ?? key.created_at),
    until: view.day((key.activated_at ?? key.created_at) + rotationPeriodSeconds),
  });
}
