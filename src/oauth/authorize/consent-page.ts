import type { RegisteredBy } from '../../clients/presentation.ts';
import { isScope } from '../../clients/scopes.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text/visible-text.ts';

type ConsentQuestion = {
  request_id: string;
  /** Who is asked, so that the answer of one person never counts for another. */
  user_id: string;
  clientName: string;
  registeredBy: RegisteredBy;
  redirectHost: string;
  email: string;
  scope: readonly string[];
  endsAt: string;
};

export const consentPage = (view: View, question: ConsentQuestion): Page => ({
  title: view.plain('consent.title', { client: visibleText(question.clientName) }),
  endsAt: question.endsAt,
  content: html`<h1>${view.t('consent.title', { client: untrusted(question.clientName) })}</h1>
<p class="soft">${view.t('consent.app', { host: html`<code>${question.redirectHost}</code>` })}${whoRegistered(view, question.registeredBy)}</p>
<h2>${view.t('consent.able')}</h2>
<ul class="scopes">${question.scope.map((name) => html`<li>${isScope(name) ? view.t(`scope.${name}`) : name}</li>`)}</ul>
<p class="soft">${view.t(question.scope.includes('offline_access') ? 'consent.lasting' : 'consent.short')}</p>
<p class="soft">${view.t('consent.as', { email: html`<strong>${question.email}</strong>` })} <a href="/signin/account?request=${question.request_id}">${view.t('consent.not_you')}</a></p>
<form method="post" action="/consent">
${hidden('request', question.request_id)}${hidden('user', question.user_id)}
<button type="submit" name="decision" value="allow" id="consent-allow">${view.t('consent.allow')}</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">${view.t('consent.cancel')}</button>
</form>`,
});

function whoRegistered(view: View, by: RegisteredBy): Html {
  if (by === 'operator') return view.t('consent.ownerless', { service: view.branding.name });
  if (by === 'gone') return view.t('consent.owner_gone');
  if (by.domain === undefined) return view.t('consent.owner_unproved');
  return view.t('consent.owner', { domain: untrusted(by.domain) });
}
