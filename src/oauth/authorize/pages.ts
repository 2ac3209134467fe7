import type { Session } from '../../authentication/sessions/session.ts';
import type { RegisteredBy } from '../../clients/presentation.ts';
import { destinationOf } from '../../clients/redirect-uri.ts';
import { isScope } from '../../clients/scopes.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { claimList } from '../claims/claims.ts';
import { claimsBeyondScope } from '../claims/claims-parameter.ts';
import type { PendingRequest } from './store.ts';

/** The answer is valid for the user who is asked alone. */
export const accountChoicePage = (view: View, pending: PendingRequest, clientName: string, user: Session): Page => ({
  title: view.plain('choose.title'),
  endsAt: pending.parameters.redirect_uri,
  content: html`<h1>${view.t('choose.title')}</h1>
<p class="soft">${view.t('signin.to_client', { client: html`<strong><bdi>${clientName}</bdi></strong>` })}</p>
<form method="post" action="/signin/account">
${hidden('request', pending.request_id)}${hidden('user', user.user_id)}
<button type="submit" id="continue-as">${view.t('choose.continue', { email: user.email })}</button>
</form>
<p><a href="/signin?request=${pending.request_id}">${view.t('choose.other')}</a></p>`,
});

/**
 * Posts the answer to the client (OAuth 2.0 Form Post Response Mode §2): at once where scripts run, else by its button. The
 * text does not say whether the sign-in succeeded, for the client's own page does.
 */
export const formPostPage = (
  view: View,
  { action, fields }: { action: string; fields: Readonly<Record<string, string>> },
): Page => ({
  title: view.plain('form_post.title'),
  endsAt: action,
  // A client that checks the origin of each POST cannot allow "null". The `strict-` policies send that from HTTPS to a client
  // in development on http://localhost (Fetch §3.2).
  referrerPolicy: 'origin',
  scripts: ['form-post'],
  content: html`<h1>${view.t('form_post.title')}</h1>
<p class="soft">${view.t('form_post.what', { host: html`<code>${new URL(action).host}</code>` })}</p>
<form method="post" action="${action}" id="form-post">
${Object.entries(fields).map(([name, value]) => hidden(name, value))}
<button type="submit" id="form-post-submit">${view.t('form_post.continue')}</button>
</form>`,
});

/** As {@link accountChoicePage}. */
export function consentPage(
  view: View,
  { request_id, parameters }: PendingRequest,
  client: { name: string; registeredBy: RegisteredBy },
  user: Session,
): Page {
  const { redirect_uri } = parameters;
  const scope = parameters.scope.split(' ');
  const claims = claimsBeyondScope(parameters);
  return {
    title: view.plain('consent.title', { client: visibleText(client.name) }),
    endsAt: redirect_uri,
    content: html`<h1>${view.t('consent.title', { client: untrusted(client.name) })}</h1>
<p class="soft">${view.t('consent.app', { host: html`<code>${destinationOf(redirect_uri)}</code>` })}${registeredByText(view, client.registeredBy)}</p>
<h2>${view.t('consent.permissions')}</h2>
<ul class="scopes">${scope.map((name) => html`<li>${isScope(name) ? view.t(`scope.${name}`) : name}</li>`)}${claims.length > 0 && html`<li>${claimList(view, claims)}</li>`}</ul>
<p class="soft">${view.t(scope.includes('offline_access') ? 'consent.lasting' : 'consent.short')}</p>
<p class="soft">${view.t('consent.as', { email: html`<strong>${user.email}</strong>` })} <a href="/signin/account?request=${request_id}">${view.t('consent.not_you')}</a></p>
<form method="post" action="/consent">
${hidden('request', request_id)}${hidden('user', user.user_id)}
<button type="submit" name="decision" value="allow" id="consent-allow">${view.t('consent.allow')}</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">${view.t('consent.cancel')}</button>
</form>`,
  };
}

function registeredByText(view: View, by: RegisteredBy): Html {
  if (by === 'operator') return view.t('consent.ownerless', { service: view.branding.name });
  if (by === 'gone') return view.t('consent.owner_gone');
  if (by.domain === undefined) return view.t('consent.owner_unverified');
  return view.t('consent.owner', { domain: untrusted(by.domain) });
}
