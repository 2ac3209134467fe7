import { hidden } from '../http/form.ts';
import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import type { View } from '../http/view.ts';
import { isScope } from '../oauth/scopes.ts';

export type ConsentQuestion = {
  request_id: string;
  clientName: string;
  /** Null for a client whose owner has left. */
  ownerName: string | null;
  redirectHost: string;
  email: string;
  scope: readonly string[];
  endsAt: string;
};

export const consentPage = (view: View, question: ConsentQuestion): Page => ({
  title: view.plain('consent.title', { client: question.clientName }),
  endsAt: question.endsAt,
  content: html`<h1>${view.t('consent.title', { client: html`<bdi>${question.clientName}</bdi>` })}</h1>
<p class="soft">${view.t('consent.who', {
    email: html`<strong>${question.email}</strong>`,
    host: html`<code>${question.redirectHost}</code>`,
  })}${question.ownerName && view.t('consent.owner', { owner: html`<bdi>${question.ownerName}</bdi>` })}</p>
<h2>${view.t('consent.able')}</h2>
<ul class="scopes">${question.scope.map((name) => html`<li>${isScope(name) ? view.t(`scope.${name}`) : name}</li>`)}</ul>
<p class="soft">${view.t(question.scope.includes('offline_access') ? 'consent.lasting' : 'consent.short')}</p>
<form method="post" action="/consent">
${hidden('request', question.request_id)}
<button type="submit" name="decision" value="allow" id="consent-allow">${view.t('consent.allow')}</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">${view.t('consent.cancel')}</button>
</form>`,
});
