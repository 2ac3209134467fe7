import { hidden } from '../../platform/pages/form.ts';
import { html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

type Question = {
  /** Sealed. */
  request: string;
  email: string;
  /** Of the app that asks; absent if it is not known. */
  clientName: string | undefined;
  endsAt: string | undefined;
};

/** The one place that signs a user out at the request of a site that could not prove that it is part of the session. */
export const confirmationPage = (view: View, { request, email, clientName, endsAt }: Question): Page => ({
  title: view.plain('logout.title'),
  endsAt,
  content: html`<h1>${view.t('logout.title')}</h1>
<p class="soft">${clientName === undefined ? view.t('logout.asked') : view.t('logout.asked_by', { client: untrusted(clientName) })}</p>
<p>${view.t('logout.account', { email: html`<strong>${email}</strong>` })}</p>
<form method="post" action="/oauth/logout/confirm" id="logout-confirm">
${hidden('request', request)}
<button type="submit" name="decision" value="sign_out" id="logout-submit">${view.t('logout.sign_out')}</button>
<button type="submit" name="decision" value="stay" id="logout-stay" class="quiet">${view.t('logout.stay')}</button>
</form>`,
});

export const signedOutPage = (view: View): Page => ({
  title: view.plain('logout.done.title'),
  words: 'signed_out',
  content: html`<h1 id="signed-out">${view.t('logout.done.title')}</h1>
<p>${view.t('logout.done.text', { service: view.branding.name })}</p>
<p><a class="button" href="/signin" id="sign-in-again">${view.t('logout.done.sign_in')}</a></p>`,
});
