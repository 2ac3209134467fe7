import type { Role } from '../../accounts/roles.ts';
import type { Attribute } from '../../attributes/attribute.ts';
import { attributeFields, problemsInFields } from '../../attributes/fields.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { agreement } from '../../platform/pages/brand-parts.ts';
import {
  accountNameField,
  fieldAlert,
  firstWrong,
  newPasswordField,
  passwordScripts,
} from '../../platform/pages/form.ts';
import { type Html, html, namedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { cancelForm } from '../sessions/page.ts';
import {
  continuesTo,
  type ForApp,
  type ReturnTarget,
  returnTargetFields,
  returnTargetQuery,
} from '../sessions/return-target.ts';

/** `problem`: the alert above the form. */
type EmailForm = ReturnTarget & ForApp & { endsAt?: string; email?: string; problem?: Html | false };

/** Asks for the address that a link is sent to. */
export const requestPage = (view: View, flow: 'signup' | 'reset', form: EmailForm): Page => {
  const signInPath = `/signin${returnTargetQuery(form)}`;
  return {
    title: view.plain(`${flow}.title`),
    words: flow === 'signup' ? 'sign_up' : 'reset_password',
    endsAt: form.endsAt,
    content: html`<h1>${view.t(`${flow}.title`)}</h1>
${continuesTo(view, form)}
<p class="soft">${view.t(`${flow}.intro`)}</p>
${form.problem}
<form method="post" action="/${flow}">
${returnTargetFields(form)}
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="text" autocomplete="${flow === 'signup' ? 'email' : 'username'}" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" autofocus value="${form.email ?? ''}">
<button type="submit" id="${flow}-submit">${view.t(`${flow}.submit`)}</button>
</form>
${
  flow === 'signup'
    ? html`<p class="soft">${view.t('signup.has_account', { link: html`<a class="whole" href="${signInPath}">${view.t('signup.sign_in')}</a>` })}</p>`
    : html`<p><a href="${signInPath}">${view.t('reset.back')}</a></p>`
}
${cancelForm(view, form)}`,
  };
};

/** The same whether the address has an account or not; the mail to the owner of one says so. */
export const sentPage = (view: View, flow: 'signup' | 'reset', app: ForApp): Page => ({
  title: view.plain(`${flow}.sent_title`),
  content: html`<h1>${view.t(`${flow}.sent_title`)}</h1>
${continuesTo(view, app)}
<p>${view.t(`${flow}.sent`)}</p>
<p class="soft">${view.t('mail_sent.nothing', { link: html`<a href="/${flow}">${view.t('mail_sent.again')}</a>` })}</p>${
    flow === 'reset' && html`\n<p><a href="/signin">${view.t('reset.back')}</a></p>`
  }`,
});

/** Where only administrators create accounts. */
export const noSignUpPage = (view: View): Page => ({
  title: view.plain('signup.off_title'),
  words: 'sign_up',
  content: html`<h1>${view.t('signup.off_title')}</h1>
<p>${view.t('signup.off')}</p>
<p><a href="/signin">${view.t('signup.sign_in')}</a></p>`,
});

/** Without mail, users cannot prove that an address is theirs. */
export const noResetPage = (view: View): Page => ({
  title: view.plain('reset.title'),
  words: 'reset_password',
  content: html`<h1>${view.t('reset.title')}</h1>
<p>${view.t('reset.off')}</p>
<p><a href="/signin">${view.t('reset.back')}</a></p>`,
});

type AccountForm = {
  flow: 'signup' | 'join';
  token: string;
  email: string;
  /** That an administrator has given. */
  preferred_username?: string | null;
  role?: Role | null;
  name?: string;
  request_id?: string;
  endsAt?: string;
  clientName?: string;
  clientLogo?: string;
  /** Those that sign-up asks for. */
  attributes: readonly Attribute[];
  /** What was entered, if it was refused. */
  typed?: Parameters | undefined;
  /** Why it was refused: the alert, and what is wrong with which field. */
  problem?: Html | false;
  problems?: readonly FieldProblem[];
};

export const newAccountPage = (
  view: View,
  {
    flow,
    token,
    email,
    preferred_username,
    role,
    name,
    request_id,
    endsAt,
    clientName,
    clientLogo,
    attributes,
    typed,
    problem,
    problems: refused = [],
  }: AccountForm,
): Page => {
  const problems = problemsInFields(view, attributes, refused);
  return {
    title: view.plain('signup.link_title'),
    endsAt,
    scripts: passwordScripts,
    content: html`<h1>${view.t('signup.link_title')}</h1>
${continuesTo(view, { clientName, clientLogo })}
<p class="soft">${view.t(`${flow}.link_intro`, { email: namedEmail(email) })}</p>
${preferred_username && html`<p class="soft">${view.t('join.username', { username: html`<strong>${preferred_username}</strong>` })}</p>\n`}${role === 'admin' && html`<p class="soft">${view.t('join.administrator')}</p>\n`}${problems.length > 0 ? fieldAlert(view, problems) : problem}
<form method="post" action="/${flow}/${token}">
${accountNameField(email)}
${role === 'admin' && html`<input type="hidden" name="role" value="admin">\n`}<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" autocomplete="name" required maxlength="100"${firstWrong(problems) !== 'password' && html` autofocus`} value="${name ?? ''}">
${attributeFields(view, attributes, { stored: null, typed, problems, signsUp: true })}${newPasswordField(view, { label: 'field.password', problems })}
${agreement(view)}<button type="submit" id="signup-create">${view.t('signup.create')}</button>
</form>
${cancelForm(view, { request_id, clientName })}`,
  };
};

type NewPasswordForm = {
  token: string;
  email: string;
  /** Characters. */
  min: number;
  request_id?: string;
  endsAt?: string;
  clientName?: string;
  clientLogo?: string;
  /** Why it was refused: the alert, and what is wrong with which field. */
  problem?: Html | false;
  problems?: readonly FieldProblem[];
  /** Remain after the reset. */
  otherSignInMethods: readonly MessageDescriptor[];
};

export const newPasswordPage = (
  view: View,
  { token, email, min, request_id, endsAt, problem, problems = [], otherSignInMethods, ...app }: NewPasswordForm,
): Page => ({
  title: view.plain('reset.link_title'),
  endsAt,
  scripts: passwordScripts,
  content: html`<h1>${view.t('reset.link_title')}</h1>
${continuesTo(view, app)}
<p class="soft">${view.t('reset.link_intro', { email: namedEmail(email) })}</p>
${problem}
<form method="post" action="/reset/${token}">
${accountNameField(email)}
${newPasswordField(view, { min, autofocus: true, problems })}
<button type="submit" id="reset-save">${view.t('reset.save')}</button>
</form>
${
  otherSignInMethods.length > 0 &&
  html`<h2>${view.t('reset.stays.title')}</h2>
<p>${view.t('reset.stays')}</p>
<ul id="reset-stays">${otherSignInMethods.map(({ key, values }) => html`<li>${view.t(key, values)}</li>`)}</ul>
<p class="soft">${view.t('reset.stays.page')}</p>`
}
${cancelForm(view, { request_id, ...app })}`,
});
