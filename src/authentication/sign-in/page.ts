import {
  accountNameField,
  notice,
  pageOfUnfinished,
  passwordInput,
  passwordScripts,
} from '../../platform/pages/form.ts';
import { type Html, html, namedEmail, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { markOf, providerLogosPath } from '../credentials/providers.ts';
import type { ConfirmationMethods } from '../credentials/sign-in-methods.ts';
import { passkeyForm, passkeyScripts } from '../passkeys/page.ts';
import { cancelForm, signOutForm } from '../sessions/page.ts';
import {
  continuesTo,
  type ForApp,
  type ReturnTarget,
  returnTargetFields,
  returnTargetQuery,
  type Way,
} from '../sessions/return-target.ts';

export type SignInForm = ReturnTarget &
  ForApp &
  ConfirmationMethods & {
    username?: string;
    /** Why a user who is signed in is asked again. */
    again?: { why: 'asked' | 'long_ago' | 'second_factor'; email: string };
    /** The alert above the form. */
    problem?: Html | false;
    /** A message that is no problem, such as a cancelled sign-in at a provider. */
    notice?: Renderable;
    endsAt?: string;
    /** How the last sign-in in this browser began: one of {@link Way}, or whatever the browser sends. */
    lastWay?: string | undefined;
    /** The operator, or the client, requires a second factor that the session lacks. */
    isRequired: boolean;
    /** Whether users can sign up here, and reset a password. */
    offersSignUp: boolean;
    offersReset: boolean;
    /** Whether a mailed code signs in here. */
    offersMailCode: boolean;
  };

/** The script writes into it whether this device can have a passkey, so that one is offered where it can. */
const ableDeviceField = html`<input type="hidden" name="able_device">`;

export const signInPage = (view: View, form: SignInForm): Page => ({
  title: view.plain('signin.title'),
  words: 'sign_in',
  endsAt: form.endsAt,
  scripts: form.offersPasskey ? [...passwordScripts, ...passkeyScripts] : passwordScripts,
  content: html`<h1>${view.t('signin.title')}</h1>
${continuesTo(view, form) || html`<p class="soft">${view.t('signin.to_account')}</p>`}
${form.again && html`<p>${view.t(`signin.again.${form.again.why}`, { email: namedEmail(form.again.email) })}</p>`}
${notice(form.notice)}${form.problem}
<form method="post" action="/signin">
${returnTargetFields(form)}${form.offersPasskey && form.request_id !== undefined && ableDeviceField}
<label for="username">${view.t('field.email')}</label>
<input id="username" name="username" type="text" autocomplete="username webauthn" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" value="${form.username ?? ''}"${form.username ? '' : html` autofocus`}>
${passwordField(view, form)}
${
  form.lastWay === 'password'
    ? html`<button id="signin-submit" type="submit" aria-describedby="last-way">${view.t('signin.submit')}</button>
<p class="hint" id="last-way">${view.t('signin.last_used')}</p>`
    : html`<button id="signin-submit" type="submit">${view.t('signin.submit')}</button>`
}
${form.offersMailCode && html`<button id="signin-mail-code" type="submit" class="quiet" formaction="/signin/mail-code" formnovalidate>${view.t('signin.mail_code')}${lastUsed(view, form, 'mail_code')}</button>`}
</form>
${passkeySection(view, form, { action: '/signin/passkey', autofill: true, button: html`${view.t('passkey.button.sign_in')}${lastUsed(view, form, 'passkey')}` })}
${otherSignInMethods(view, form)}
${form.offersSignUp && html`<p class="soft">${view.t('signin.sign_up', { link: html`<a class="whole" href="/signup${returnTargetQuery(form)}">${view.t('signin.sign_up.link')}</a>` })}</p>`}
${cancelForm(view, form)}`,
});

export type ConfirmForm = SignInForm & {
  username: string;
  /** The user whose account the page names: declining the confirmation is valid for this user only. */
  user_id: string;
};

/** Confirms the signed-in user before an action that needs a recent sign-in (ASVS 7.5.1). */
export const confirmPage = (view: View, form: ConfirmForm): Page => ({
  title: view.plain('confirm.title'),
  endsAt: form.endsAt,
  scripts: form.offersPasskey ? [...passwordScripts, ...passkeyScripts] : passwordScripts,
  content: html`<h1>${view.t('confirm.title')}</h1>
${continuesTo(view, form)}
<p class="soft">${view.t('confirm.why', { email: namedEmail(form.username) })}</p>
${strongerFactorNotice(view, form)}
${notice(form.notice)}${form.problem}
${
  form.offersPassword &&
  html`<form method="post" action="/signin/confirm">
${returnTargetFields(form)}
${accountNameField(form.username)}
${passwordField(view, form)}
<button id="signin-submit" type="submit">${view.t('confirm.submit')}</button>
</form>`
}
${passkeySection(view, form, { action: '/signin/confirm/passkey', button: view.t('passkey.button.confirm') })}
${
  form.secondFactor === 'passkey' &&
  html`<p data-passkey-without data-unsupported="${view.t('confirm.passkey.unsupported')}">${view.t('confirm.passkey.script')}</p>`
}
${otherSignInMethods(view, form, '1')}
${form.secondFactor && html`<p class="soft">${view.t(`confirm.${form.secondFactor}.lost`)}</p>`}
${cancellation(view, form)}`,
});

/** Where both factors are required, one gets no further than out. */
const cancellation = (view: View, form: ConfirmForm): Html =>
  form.isRequired && form.request_id === undefined
    ? signOutForm(view)
    : html`<p><a id="confirm-not" href="${cancelLink(form)}">${view.t(form.request_id === undefined || form.isRequired ? 'confirm.cancel' : 'confirm.decline')}</a></p>`;

/** A stronger factor that a client prefers can be declined; for a change of the account it is required. */
function strongerFactorNotice(
  view: View,
  { secondFactor, request_id, isRequired, clientName = '' }: SignInForm,
): Html | false {
  if (secondFactor === undefined) return false;
  if (request_id === undefined || isRequired || secondFactor === 'totp')
    return html`<p>${view.t(`confirm.${secondFactor}`)}</p>`;
  return html`<p>${view.t('confirm.preferred', { client: html`<strong><bdi>${clientName}</bdi></strong>` })}</p>`;
}

/**
 * Where a user goes who declines. A waiting authorization request continues; from a form that was sent, back to its page.
 * Any other page would ask for the confirmation again, so the link leads to one that needs no recent sign-in.
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
${passwordInput(view, {
  autocomplete: 'current-password',
  describedBy: form.problem ? 'problem' : undefined,
  autofocus: Boolean(form.username),
})}
${form.offersReset && html`<p class="hint"><a href="/reset${returnTargetQuery(form)}">${view.t('signin.forgot')}</a></p>`}`;

const passkeySection = (view: View, form: SignInForm, own: { action: string; autofill?: true; button: Html }) =>
  form.offersPasskey && passkeyForm(view, { ...own, ceremony: 'get', quiet: true, fields: returnTargetFields(form) });

/** On the way by which the last sign-in in this browser began. */
const lastUsed = (view: View, { lastWay }: SignInForm, way: Way): Html | false =>
  lastWay === way && html` <span class="badge">${view.t('signin.last_used')}</span>`;

/** @param confirm `1`: the provider must authenticate anew, and only the same user is accepted. */
const otherSignInMethods = (view: View, form: SignInForm, confirm?: '1'): Html | false =>
  form.providers.length > 0 &&
  html`<p class="or"><span>${view.t('signin.or')}</span></p>
<ul class="ways">${form.providers.map(
    (one) =>
      html`<li><a class="button quiet" id="signin-${one.id}" href="/auth/${one.id}/login${returnTargetQuery(form, confirm)}">${providerMark(view, one)}${view.t('signin.with', { provider: one.label })}${lastUsed(view, form, `provider.${one.id}`)}</a></li>`,
  )}</ul>`;

/** The operator's own file, or the provider's mark, where its rules allow one. */
function providerMark({ branding: { marks } }: View, one: SignInForm['providers'][number]): Html | false {
  const own = one.logoId === undefined ? marks[`provider:${one.id}`]?.path : `${providerLogosPath}/${one.logoId}`;
  const path = own ?? marks[markOf(one) ?? '']?.path;
  return path !== undefined && html`<img class="mark" src="${path}" alt="" width="22" height="22"> `;
}
