import { alert, notice, pageOfUnfinished } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { ConfirmationMethods } from '../credentials/sign-in-methods.ts';
import { passkeyForm, passkeyScripts } from '../passkeys/page.ts';
import { type ReturnTarget, returnTargetFields, returnTargetQuery } from '../sessions/return-target.ts';

export type SignInForm = ReturnTarget &
  ConfirmationMethods & {
    username?: string;
    /** Which application the person is on the way to. */
    clientName?: string;
    problem?: Renderable;
    /** What happened on the way here that is no problem. */
    notice?: Renderable;
    endsAt?: string;
    /** Whether an account can be made here, and a password reset. */
    offersSignUp: boolean;
    offersReset: boolean;
  };

export const signInPage = (view: View, form: SignInForm): Page => ({
  title: view.plain('signin.title'),
  endsAt: form.endsAt,
  scripts: form.offersPasskey ? passkeyScripts : [],
  content: html`<h1>${view.t('signin.title')}</h1>
<p class="soft">${
    form.clientName
      ? view.t('signin.to_client', { client: html`<strong><bdi>${form.clientName}</bdi></strong>` })
      : view.t('signin.to_account')
  }</p>
${notice(form.notice)}${alert(form.problem)}
<form method="post" action="/signin">
${returnTargetFields(form)}
<label for="username">${view.t('field.email')}</label>
<input id="username" name="username" type="email" autocomplete="username webauthn" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" value="${form.username ?? ''}"${form.username ? '' : html` autofocus`}>
${passwordField(view, form)}
<button id="signin-submit" type="submit">${view.t('signin.submit')}</button>
</form>
${
  form.offersPasskey &&
  passkeyForm(view, {
    action: '/signin/passkey',
    ceremony: 'get',
    autofill: true,
    quiet: true,
    button: view.t('passkey.button.sign_in'),
    fields: returnTargetFields(form),
  })
}
${otherSignInMethods(view, form)}
${form.offersSignUp && html`<p class="soft">${view.t('signin.sign_up', { link: html`<a href="/signup${returnTargetQuery(form)}">${view.t('signin.sign_up.link')}</a>` })}</p>`}`,
});

export type ConfirmForm = SignInForm & {
  username: string;
  /** Whose account the page names: to go on without confirming counts for this user alone. */
  user_id: string;
};

/** The same person once more, before something that takes a recent sign-in (ASVS 7.5.1). */
export const confirmPage = (view: View, form: ConfirmForm): Page => ({
  title: view.plain('confirm.title'),
  endsAt: form.endsAt,
  scripts: form.offersPasskey ? passkeyScripts : [],
  content: html`<h1>${view.t('confirm.title')}</h1>
<p class="soft">${view.t('confirm.why', { email: html`<strong>${form.username}</strong>` })}</p>
${strongerFactorNotice(view, form)}
${notice(form.notice)}${alert(form.problem)}
${
  form.offersPassword &&
  html`<form method="post" action="/signin/confirm">
${returnTargetFields(form)}
<input type="hidden" name="username" autocomplete="username" value="${form.username}">
${passwordField(view, form)}
<button id="signin-submit" type="submit">${view.t('confirm.submit')}</button>
</form>`
}
${
  form.offersPasskey &&
  passkeyForm(view, {
    action: '/signin/confirm/passkey',
    ceremony: 'get',
    quiet: true,
    button: view.t('passkey.button.confirm'),
    fields: returnTargetFields(form),
  })
}
${
  form.secondFactor === 'passkey' &&
  html`<p data-passkey-without data-unsupported="${view.t('confirm.passkey.unsupported')}">${view.t('confirm.passkey.script')}</p>`
}
${otherSignInMethods(view, form, '1')}
${form.secondFactor && html`<p class="soft">${view.t(`confirm.${form.secondFactor}.lost`)}</p>`}
<p><a id="confirm-not" href="${cancelLink(form)}">${view.t(form.request_id === undefined ? 'confirm.cancel' : 'confirm.decline')}</a></p>`,
});

/** A client's wish can be declined; what changes an account cannot be had for less. */
function strongerFactorNotice(view: View, { secondFactor, request_id, clientName = '' }: SignInForm): Html | false {
  if (secondFactor === undefined) return false;
  if (request_id === undefined || secondFactor === 'totp') return html`<p>${view.t(`confirm.${secondFactor}`)}</p>`;
  return html`<p>${view.t('confirm.preferred', { client: html`<strong><bdi>${clientName}</bdi></strong>` })}</p>`;
}

/**
 * For somebody who would rather not. The page of a form that was sent leads back to it; a page that could not be seen
 * without confirming would only ask again, so then it is one that takes no recent sign-in. A request that waits goes on.
 */
function cancelLink({ request_id, next = '', user_id }: ConfirmForm): string {
  if (request_id !== undefined) {
    return `/oauth/authorize/continue?request=${request_id}&step_up=declined&user=${user_id}`;
  }
  return pageOfUnfinished(next) ?? (/^\/developer\b/.test(next) ? '/developer' : '/account');
}

const passwordField = (
  view: View,
  form: SignInForm,
): Html => html`<label for="password">${view.t('field.password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
 ${form.problem ? html`aria-describedby="problem"` : ''}${form.username ? html` autofocus` : ''}>
${form.offersReset && html`<p class="hint"><a href="/reset${returnTargetQuery(form)}">${view.t('signin.forgot')}</a></p>`}`;

/** @param confirm `1`: the provider must ask anew, and only the same person will do. */
const otherSignInMethods = (view: View, form: SignInForm, confirm?: '1'): Html | false =>
  form.providers.length > 0 &&
  html`<p class="or"><span>${view.t('signin.or')}</span></p>
<ul class="ways">${form.providers.map(
    ({ id, label }) =>
      html`<li><a class="button quiet" id="signin-${id}" href="/auth/${id}/login${returnTargetQuery(form, confirm)}">${view.t('signin.with', { provider: label })}</a></li>`,
  )}</ul>`;
