import type { Client } from '../../clients/client.ts';
import { originHostOf } from '../../clients/presentation.ts';
import { destinationOf } from '../../clients/redirect-uri.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import { hidden, notice } from '../../platform/pages/form.ts';
import { html, untrusted } from '../../platform/pages/html.ts';
import { pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';

export const path = '/review-request';
export const reviewRequestPath = (client_id: string): string => pathWith(path, { client_id });

/** What a client that came by itself says of itself, for the user who may ask for its review. Nothing of it is a link. */
export function reviewRequestPage(view: View, client: Client, scopes: ScopeRegister): Page {
  const { name, status, review_asked_at, redirect_uris, allowed_scopes } = client;
  const title = view.plain('outside.title', { client: visibleText(name) });
  const heading = html`<h1>${view.t('outside.title', { client: untrusted(name) })}</h1>`;
  if (status !== 'pending_review' || review_asked_at !== null) {
    const key = status === 'pending_review' ? 'outside.asked' : 'outside.decided';
    return { title, content: html`${heading}${notice(view.t(key, { client: untrusted(name) }))}` };
  }
  const hosts = [...new Set(redirect_uris.map(destinationOf))];
  return {
    title,
    content: html`${heading}
<p>${view.t('outside.intro')}</p>
<dl>
<dt>${view.t('outside.from')}</dt><dd><code>${untrusted(originHostOf(client) ?? '')}</code></dd>
<dt>${view.t('outside.returns')}</dt><dd>${hosts.map((host, place) => html`${place > 0 && ', '}<code>${untrusted(host)}</code>`)}</dd>
<dt>${view.t('outside.wants')}</dt><dd><ul class="scopes">${allowed_scopes.map((one) => html`<li>${scopes.find(one)?.describe(view.locale) ?? one}</li>`)}</ul></dd>
</dl>
<p class="soft">${view.t('outside.what', { service: view.branding.name })}</p>
<form method="post" action="${path}">
${hidden('client_id', client.client_id)}
<button type="submit" id="review-request">${view.t('outside.ask')}</button>
</form>`,
  };
}
