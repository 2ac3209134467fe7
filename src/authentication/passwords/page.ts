import type { FieldProblem } from '../../platform/errors.ts';
import { fieldAlert, newPasswordField, notice } from '../../platform/pages/form.ts';
import { html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { accountTab } from '../sessions/account-tabs.ts';

export type PasswordForm = {
  email: string;
  hasPassword: boolean;
  /** Whether it could be taken away. */
  hasAnotherWay: boolean;
  secondFactor: boolean;
  /** Characters that a new one needs. */
  least: number;
  done?: 'changed' | 'removed';
  problems?: readonly FieldProblem[];
};

export const passwordPage = (view: View, form: PasswordForm): Page => ({
  title: view.plain('password.title'),
  tab: accountTab('security'),
  content: html`<p><a href="/account/security">${view.t('security.back')}</a></p>
<h1>${view.t('password.title')}</h1>
${form.done && notice(view.t(`password.done.${form.done}`))}
${fieldAlert(view, form.problems ?? [])}
<p class="soft">${view.t(form.hasPassword ? 'password.intro' : 'password.intro_first')}</p>
${form.hasPassword && !form.secondFactor && html`<p class="soft">${view.t('password.if_short', { least: form.least })}</p>`}
<form method="post" action="/account/security/password">
<input type="hidden" name="username" autocomplete="username" value="${form.email}">
${newPasswordField(view, form.least)}
<button type="submit" id="password-submit">${view.t(form.hasPassword ? 'password.change' : 'password.set')}</button>
</form>
${form.hasPassword && html`<h2>${view.t('password.remove_title')}</h2>\n${removal(view, form)}`}`,
});

const removal = (view: View, { hasAnotherWay }: PasswordForm) =>
  hasAnotherWay
    ? html`<p class="soft">${view.t('password.remove_intro')}</p>
<form method="post" action="/account/security/password/remove">
<button type="submit" id="password-remove" class="danger">${view.t('password.remove')}</button>
</form>`
    : html`<p class="soft">${view.t('password.last_sign_in_method')}</p>`;
