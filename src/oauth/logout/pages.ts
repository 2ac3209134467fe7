import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, namedEmail, untrusted } from '../../platform/pages/html.ts';
import { appLogo } from '../../platform/pages/initials.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

type Question = {
  /** Sealed. */
  request: string;
  email: string;
  /** Of the app that asks; absent if it is not known. */
  app: { clientName: string; clientLogo: string | undefined } | undefined;
  endsAt: string | undefined;
};

function whoAsks(view: View, app: Question['app']): Html {
  if (app === undefined) return html`<p class="soft">${view.t('logout.asked')}</p>`;
  const words = view.t('logout.asked_by', { client: untrusted(app.clientName) });
  return app.clientLogo === undefined
    ? html`<p class="soft">${words}</p>`
    : html`<p class="soft for-app">${appLogo(app.clientLogo, 'small')}<span>${words}</span></p>`;
}

/** The one place that signs a user out at the request of a site that could not prove that it is part of the session. */
export const confirmationPage = (view: View, { request, email, app, endsAt }: Question): Page => ({
  title: view.plain('logout.title'),
  endsAt,
  content: html`<h1>${view.t('logout.title')}</h1>
${whoAsks(view, app)}
<p>${view.t('logout.account', { email: namedEmail(email) })}</p>
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
