import type { RegisteredBy } from '../../clients/presentation.ts';
import { isScope } from '../../clients/scopes.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';

type AccountChoice = {
  request_id: string;
  clientName: string;
  /** Whose account is offered: the answer is valid for this user alone. */
  user_id: string;
  email: string;
  endsAt: string;
};

export const accountChoicePage = (view: View, choice: AccountChoice): Page => ({
  title: view.plain('choose.title'),
  endsAt: choice.endsAt,
  content: html`<h1>${view.t('choose.title')}</h1>
<p class="soft">${view.t('signin.to_client', { client: html`<strong><bdi>${choice.clientName}</bdi></strong>` })}</p>
<form method="post" action="/signin/account">
${hidden('request', choice.request_id)}${hidden('user', choice.user_id)}
<button type="submit" id="continue-as">${view.t('choose.continue', { email: choice.email })}</button>
</form>
<p><a href="/signin?request=${choice.request_id}">${view.t('choose.other')}</a></p>`,
});

type ConsentRequest = {
  request_id: string;
  /** Who is asked: the answer is valid for this user alone. */
  user_id: string;
  clientName: string;
  registeredBy: RegisteredBy;
  redirectHost: string;
  email: string;
  scope: readonly string[];
  endsAt: string;
};

export const consentPage = (view: View, request: ConsentRequest): Page => ({
  title: view.plain('consent.title', { client: visibleText(request.clientName) }),
  endsAt: request.endsAt,
  content: html`<h1>${view.t('consent.title', { client: untrusted(request.clientName) })}</h1>
<p class="soft">${view.t('consent.app', { host: html`<code>${request.redirectHost}</code>` })}${registeredByText(view, request.registeredBy)}</p>
<h2>${view.t('consent.permissions')}</h2>
<ul class="scopes">${request.scope.map((name) => html`<li>${isScope(name) ? view.t(`scope.${name}`) : name}</li>`)}</ul>
<p class="soft">${view.t(request.scope.includes('offline_access') ? 'consent.lasting' : 'consent.short')}</p>
<p class="soft">${view.t('consent.as', { email: html`<strong>${request.email}</strong>` })} <a href="/signin/account?request=${request.request_id}">${view.t('consent.not_you')}</a></p>
<form method="post" action="/consent">
${hidden('request', request.request_id)}${hidden('user', request.user_id)}
<button type="submit" name="decision" value="allow" id="consent-allow">${view.t('consent.allow')}</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">${view.t('consent.cancel')}</button>
</form>`,
});

function registeredByText(view: View, by: RegisteredBy): Html {
  if (by === 'operator') return view.t('consent.ownerless', { service: view.branding.name });
  if (by === 'gone') return view.t('consent.owner_gone');
  if (by.domain === undefined) return view.t('consent.owner_unproved');
  return view.t('consent.owner', { domain: untrusted(by.domain) });
}
