import type { FieldProblem } from '../platform/errors.ts';
import type { Parameters } from '../platform/http/parameters.ts';
import { firstWrong, newPasswordField, passwordScripts } from '../platform/pages/form.ts';
import { type Html, html } from '../platform/pages/html.ts';
import type { Page } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';

export const invitationPage = (
  view: View,
  token: string,
  {
    form,
    problem,
    problems = [],
  }: { form?: Parameters; problem?: Html | false; problems?: readonly FieldProblem[] } = {},
): Page => ({
  title: view.plain('invitation.title'),
  scripts: passwordScripts,
  content: html`<h1>${view.t('invitation.title')}</h1>
<p class="soft">${view.t('invitation.intro')}</p>
${problem}
<form method="post" action="/invite/${token}">
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="text" inputmode="email" autocapitalize="none" spellcheck="false" autocomplete="username" required maxlength="254"${!isAbout(problems, 'name', 'password') && html` autofocus`} value="${form?.email ?? ''}">
<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" autocomplete="name" required maxlength="100"${isAbout(problems, 'name') && html` autofocus`} value="${form?.name ?? ''}">
${newPasswordField(view, { label: 'field.password', problems })}
<button type="submit" id="invite-submit">${view.t('invitation.submit')}</button>
</form>`,
});

const isAbout = (problems: readonly FieldProblem[], ...names: string[]) => names.includes(firstWrong(problems) ?? '');
