import type { FieldProblem } from '../../platform/errors.ts';
import { alert, fieldAlert, newPasswordField } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { type ReturnTarget, returnTargetFields, returnTargetQuery } from '../sessions/return-target.ts';

export type EmailForm = ReturnTarget & { email?: string; problem?: Renderable; problems?: readonly FieldProblem[] };

export const signUpPage = (view: View, form: EmailForm): Page => ({
  title: view.plain('signup.title'),
  content: html`<h1>${view.t('signup.title')}</h1>
<p class="soft">${view.t('signup.intro')}</p>
${alert(form.problem)}${fieldAlert(view, form.problems ?? [])}
<form method="post" action="/signup">
${returnTargetFields(form)}
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="email" autocomplete="email" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" autofocus value="${form.email ?? ''}">
<button type="submit" id="signup-submit">${view.t('signup.submit')}</button>
</form>
<p class="soft">${view.t('signup.has_account', { link: html`<a href="/signin${returnTargetQuery(form)}">${view.t('signup.sign_in')}</a>` })}</p>`,
});

/** The same for everybody: an address that has an account is told so by mail, where only its owner reads it. */
export const signUpSentPage = (view: View): Page => ({
  title: view.plain('signup.sent_title'),
  content: html`<h1>${view.t('signup.sent_title')}</h1>
<p>${view.t('signup.sent')}</p>
<p class="soft">${view.t('mail_sent.nothing', { link: html`<a href="/signup">${view.t('mail_sent.again')}</a>` })}</p>`,
});

/** Accounts are made by an administrator here. */
export const noSignUpPage = (view: View): Page => ({
  title: view.plain('signup.off_title'),
  content: html`<h1>${view.t('signup.off_title')}</h1>
<p>${view.t('signup.off')}</p>
<p><a href="/signin">${view.t('signup.sign_in')}</a></p>`,
});

type AccountForm = {
  token: string;
  email: string;
  name?: string;
  endsAt?: string;
  problems?: readonly FieldProblem[];
};

export const newAccountPage = (view: View, { token, email, name, endsAt, problems = [] }: AccountForm): Page => ({
  title: view.plain('signup.link_title'),
  endsAt,
  content: html`<h1>${view.t('signup.link_title')}</h1>
<p class="soft">${view.t('signup.link_intro', { email: html`<strong>${email}</strong>` })}</p>
${fieldAlert(view, problems)}
<form method="post" action="/signup/${token}">
<input type="hidden" name="username" autocomplete="username" value="${email}">
<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" autocomplete="name" required maxlength="100" autofocus value="${name ?? ''}">
${newPasswordField(view, undefined, 'field.password')}
<button type="submit" id="signup-create">${view.t('signup.create')}</button>
</form>`,
});
