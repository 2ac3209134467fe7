import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../oauth/deps.ts';
import {
  listKeys,
  retiredSeconds,
  retiringSeconds,
  rotationPeriodSeconds,
} from '../../oauth/signing-keys/signing-keys.ts';
import type { KeyRecord } from '../../oauth/statements.ts';
import { html } from '../../platform/pages/html.ts';
import { badge } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, doneNotice, type Shown, step } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { keyOperations } from './operations.ts';

const path = '/admin/keys';

export async function keyPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'keys:read');
  pages.show(path, async (context) => keysPage(context.view, await listKeys(deps), context));
  pages.run(keyOperations.rotate, {
    page: path,
    done: ({ rotated }) => `${path}?done=${rotated.length > 0 ? 'rotated' : 'waiting'}`,
  });
}

const tones = { active: 'good', next: 'off', retiring: 'off', retired: 'off' } as const;

const keysPage = (view: View, keys: readonly KeyRecord[], shown: Shown): Page => ({
  title: view.plain('admin.keys.title'),
  tab: adminTab('admin_keys'),
  content: html`<h1>${view.t('admin.keys.title')}</h1>
<p class="soft">${view.t('admin.keys.intro')}</p>
${doneNotice(view, shown, 'keys', ['rotated', 'waiting'])}
<ul class="items">${keys.toSorted(asUsed).map((key) => keyItem(view, key))}</ul>
${view.may('keys:write') && step(view, 'admin.keys.rotate', { path: `${path}/rotate`, id: 'keys-rotate' })}`,
});

const places = ['active', 'next', 'retiring', 'retired'];

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
  if (key.status === 'retired') {
    return view.t('admin.keys.retired', { until: view.ago((key.retired_at ?? 0) + retiredSeconds) });
  }
  return view.t('admin.keys.signing', {
    since: view.day(key.activated_at ?? key.created_at),
    until: view.day((key.activated_at ?? key.created_at) + rotationPeriodSeconds),
  });
}
