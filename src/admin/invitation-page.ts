import type { FieldProblem } from '../platform/errors.ts';
import { fieldAlert, newPasswordField } from '../platform/pages/form.ts';
import { html } from '../platform/pages/html.ts';
import type { Page } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';

type InvitationForm = { token: string; email?: string; name?: string; problems?: readonly FieldProblem[] };

export const invitationPage = (view: View, { token, email, name, problems = [] }: InvitationForm): Page => ({
  title: view.plain('invitation.title'),
  content: html`<h1>${view.t('invitation.title')}</h1>
<p class="soft">${view.t('invitation.intro')}</p>
${fieldAlert(view, problems)}
<form method="post" action="/invite/${token}">
<label for="email">${view.t('field.email')}</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" autofocus value="${email ?? ''}">
<label for="name">${view.t('field.name')}</label>
<input id="name" name="name" autocomplete="name" required maxlength="100" value="${name ?? ''}">
${newPasswordField(view, undefined, 'field.password')}
<button type="submit" id="invite-submit">${view.t('invitation.submit')}</button>
</form>`,
});
