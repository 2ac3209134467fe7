import type { EntitlementVersion } from '../../../entitlements/store.ts';
import { foreign } from '../../../http/foreign-text.ts';
import { type Html, html } from '../../../http/html.ts';
import type { View } from '../../../http/view.ts';
import { badge, exact, named } from '../parts.ts';

/** What a person is entitled to, with every write that led there; the highest version is the one that counts. */
export function entitlementHistory(view: View, versions: readonly EntitlementVersion[]): Html {
  if (versions.length === 0) return html`<p class="soft">${view.t('admin.users.entitlements.none')}</p>`;
  const byProduct = Map.groupBy(versions, ({ product }) => product);
  return html`${[...byProduct].map(([product, writes]) => productHistory(view, product, writes))}`;
}

function productHistory(view: View, product: string, writes: readonly EntitlementVersion[]): Html {
  const newestFirst = writes.toSorted((one, other) => other.version - one.version);
  return html`<h3><code>${product}</code></h3>
<ol class="items" reversed>${newestFirst.map(
    (write, place) => html`<li><div>
<p><strong>${foreign(write.plan)}</strong> ${badge(view.t(`admin.users.entitlements.status.${write.status}`), write.status === 'active' ? 'good' : 'off')} ${place === 0 && view.t('admin.users.entitlements.current')}</p>
<p>${view.t('admin.users.entitlements.version', { version: write.version })} · ${exact(write.written_at)} · ${foreign(write.source)} · ${named(write.credential_id)}${write.event_id !== null && html` · <code>${foreign(write.event_id, 255)}</code>`}</p>
${write.current_period_end !== null && html`<p>${view.t('admin.users.entitlements.until', { day: view.day(write.current_period_end) })}</p>`}
</div></li>\n`,
  )}</ol>`;
}
