import { cancelForm } from '../../authentication/sessions/page.ts';
import { continuesTo, type ForApp, returnTargetQuery } from '../../authentication/sessions/return-target.ts';
import type { Session } from '../../authentication/statements.ts';
import { hidden } from '../../platform/pages/form.ts';
import { html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { PendingRequest } from './store.ts';

/** The answer is valid for the user who is asked alone. */
export const accountChoicePage = (view: View, pending: PendingRequest, app: ForApp, user: Session): Page => ({
  title: view.plain('choose.title'),
  endsAt: pending.parameters.redirect_uri,
  content: html`<h1>${view.t('choose.title')}</h1>
${continuesTo(view, app)}
<form method="post" action="/signin/account">
${hidden('request', pending.request_id)}${hidden('user', user.user_id)}
<button type="submit" id="continue-as">${view.t('choose.continue', { email: untrustedEmail(user.email) })}</button>
</form>
<p><a href="/signin${returnTargetQuery({ request_id: pending.request_id, stay: true })}">${view.t('choose.other')}</a></p>
${cancelForm(view, { request_id: pending.request_id, ...app })}`,
});

/** The client is for members of some groups, and this user is in none of them. */
export const noAccessPage = (view: View, pending: PendingRequest, clientName: string, user: Session): Page => ({
  title: view.plain('no_access.title'),
  words: 'no_access',
  endsAt: pending.parameters.redirect_uri,
  content: html`<h1>${view.t('no_access.title')}</h1>
<p>${view.t('no_access.what', { client: untrusted(clientName), email: untrustedEmail(user.email) })}</p>
<p>${view.t('no_access.ask', { service: view.branding.name })}</p>
<form method="post" action="/oauth/authorize/cancel">${hidden('request', pending.request_id)}
<button type="submit" id="no-access-back">${view.t('no_access.back', { client: untrusted(clientName) })}</button></form>
<p><a href="/signin${returnTargetQuery({ request_id: pending.request_id, stay: true })}">${view.t('no_access.other')}</a></p>`,
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
