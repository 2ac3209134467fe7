import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';
import { isScope, scopes } from '../oauth/scopes.ts';

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

export const consentPage = (question: ConsentQuestion): Page => ({
  title: `Allow ${question.clientName}?`,
  endsAt: question.endsAt,
  content: html`<h1>Allow <bdi>${question.clientName}</bdi>?</h1>
<p class="soft">You are signed in as <strong>${question.email}</strong>. The application is at <code>${question.redirectHost}</code>${
    question.ownerName && html`, registered by <bdi>${question.ownerName}</bdi>`
  }, and has been reviewed.</p>
<h2>It will be able to</h2>
<ul class="scopes">${question.scope.map((name) => html`<li>${isScope(name) ? scopes[name] : name}</li>`)}</ul>
<p class="soft">${
    question.scope.includes('offline_access')
      ? 'This lasts for up to 90 days, or until you disconnect it.'
      : 'This lasts for an hour after each sign-in.'
  }</p>
<form method="post" action="/consent">
<input type="hidden" name="request" value="${question.request_id}">
<button type="submit" name="decision" value="allow" id="consent-allow">Allow</button>
<button type="submit" name="decision" value="deny" id="consent-deny" class="quiet">Cancel</button>
</form>`,
});
