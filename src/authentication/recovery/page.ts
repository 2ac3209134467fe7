import type { FieldProblem } from '../../platform/errors.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { alert, fieldAlert, newPasswordField } from '../../platform/pages/form.ts';
import { html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { returnTargetFields, returnTargetQuery } from '../sessions/return-target.ts';
import type { EmailForm } from '../sign-up/page.ts';

export const resetPage = (view: View, form: EmailForm): Page => ({
  title: view.plain('reset.title'),
  content: html`<h1>${view.t('reset.title')}</h1>
<p class="soft">${view.t('reset.intro')}</p>
${alert(form.problem)}${fieldAlert(view, form.problems ?? [])}
<form method="post" action="/reset">
${returnTargetFields(form)}
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="email" autocomplete="username" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" autofocus value="${form.email ?? ''}">
<button type="submit" id="reset-submit">${view.t('reset.submit')}</button>
</form>
<p><a href="/signin${returnTargetQuery(form)}">${view.t('reset.back')}</a></p>`,
});

/** The same for everybody, whether the address has an account or not. */
export const resetSentPage = (view: View): Page => ({
  title: view.plain('reset.sent_title'),
  content: html`<h1>${view.t('reset.sent_title')}</h1>
<p>${view.t('reset.sent')}</p>
<p class="soft">${view.t('mail_sent.nothing', { link: html`<a href="/reset">${view.t('mail_sent.again')}</a>` })}</p>
<p><a href="/signin">${view.t('reset.back')}</a></p>`,
});

/** Without mail nobody can show that an address is theirs. */
export const noResetPage = (view: View): Page => ({
  title: view.plain('reset.title'),
  content: html`<h1>${view.t('reset.title')}</h1>
<p>${view.t('reset.off')}</p>
<p><a href="/signin">${view.t('reset.back')}</a></p>`,
});

type NewPasswordForm = {
  token: string;
  email: string;
  /** Characters. */
  least: number;
  endsAt?: string;
  problems?: readonly FieldProblem[];
  /** What signs in beside the password, and stays. */
  otherSignInMethods: readonly MessageDescriptor[];
};

export const newPasswordPage = (
  view: View,
  { token, email, least, endsAt, problems = [], otherSignInMethods }: NewPasswordForm,
): Page => ({
  title: view.plain('reset.link_title'),
  endsAt,
  content: html`<h1>${view.t('reset.link_title')}</h1>
<p class="soft">${view.t('reset.link_intro', { email: html`<strong>${email}</strong>` })}</p>
${fieldAlert(view, problems)}
<form method="post" action="/reset/${token}">
<input type="hidden" name="username" autocomplete="username" value="${email}">
${newPasswordField(view, least)}
<button type="submit" id="reset-save">${view.t('reset.save')}</button>
</form>
${
  otherSignInMethods.length > 0 &&
  html`<h2>${view.t('reset.stays.title')}</h2>
<p>${view.t('reset.stays')}</p>
<ul id="reset-stays">${otherSignInMethods.map(({ key, values }) => html`<li>${view.t(key, values)}</li>`)}</ul>
<p class="soft">${view.t('reset.stays.page')}</p>`
}`,
});
