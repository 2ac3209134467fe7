import { accountTab } from '../../authentication/account-tab.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { alert, fieldAlert, notice } from '../../platform/pages/form.ts';
import { html, namedEmail, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

export const emailNotices = ['link_sent', 'change_sent', 'verified', 'changed', 'respelled'] as const;

type EmailState = {
  email: string;
  isVerified: boolean;
  mailWorks: boolean;
  done?: (typeof emailNotices)[number];
  problem?: Renderable;
};

export const emailPage = (view: View, { email, isVerified, mailWorks, done, problem }: EmailState): Page => ({
  title: view.plain('email.title'),
  tab: accountTab('profile'),
  content: html`<h1>${view.t('email.title')}</h1>
${done && notice(view.t(`email.done.${done}`))}${alert(problem)}
<dl>
<dt>${view.t('field.email')}</dt>
<dd>${email} <span class="badge${!isVerified && ' warn'}">${view.t(isVerified ? 'account.verified' : 'account.unverified')}</span></dd>
</dl>
${!mailWorks && html`<p class="soft">${view.t('email.no_mail')}</p>`}
${
  mailWorks &&
  !isVerified &&
  html`<p class="soft">${view.t('email.why_verify')}</p>
<form method="post" action="/account/email/verify">
<button type="submit" id="verify-submit">${view.t('email.send_link')}</button>
</form>`
}
${mailWorks && html`<p class="actions"><a class="button quiet" href="/account/email/change">${view.t('email.change')}</a></p>`}`,
});

type ChangeForm = { current: string; email?: string; problem?: Renderable; problems?: readonly FieldProblem[] };

export const changeEmailPage = (view: View, { current, email, problem, problems = [] }: ChangeForm): Page => ({
  title: view.plain('email.change'),
  tab: accountTab('profile'),
  above: [{ path: '/account/email', label: view.t('email.title') }],
  content: html`<h1>${view.t('email.change')}</h1>
<p class="soft">${view.t('email.change_intro', { email: namedEmail(current) })}</p>
${alert(problem)}${fieldAlert(view, problems)}
<form method="post" action="/account/email/change">
<label for="email">${view.t('email.new')}</label>
<input id="email" name="email" type="text" autocomplete="email" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" value="${email ?? ''}">
<button type="submit" id="change-email-submit">${view.t('email.send_link')}</button>
</form>`,
});

/** What the link leads to. A user who is not signed in here does that first, and opens it again. */
export const confirmAddressPage = (
  view: View,
  { token, email, isChange, isSignedIn }: { token: string; email: string; isChange: boolean; isSignedIn: boolean },
): Page => ({
  title: view.plain('email.confirm_title'),
  content: html`<h1>${view.t('email.confirm_title')}</h1>
<p>${view.t(isChange ? 'email.confirm_change' : 'email.confirm_verify', { email: namedEmail(email) })}</p>
${
  isSignedIn
    ? html`<form method="post" action="/verify-email/${token}">
<button type="submit" id="confirm-address">${view.t('email.confirm')}</button>
</form>`
    : html`<p>${view.t('email.sign_in_first')}</p>
<p><a class="button" href="/signin?next=%2Faccount%2Femail">${view.t('signin.submit')}</a></p>`
}`,
});
