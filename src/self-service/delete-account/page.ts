import { accountTab } from '../../authentication/account-tab.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { fieldAlert } from '../../platform/pages/form.ts';
import { html, namedEmail } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

type DeletionForm = { email: string; isLastAdministrator: boolean; problems?: readonly FieldProblem[] };

export const deleteAccountPage = (view: View, { email, isLastAdministrator, problems = [] }: DeletionForm): Page => ({
  title: view.plain('delete.title'),
  tab: accountTab('profile'),
  content: html`<h1>${view.t('delete.title')}</h1>
<p>${view.t('delete.intro')}</p>
${fieldAlert(view, problems)}
${
  isLastAdministrator
    ? html`<p class="soft">${view.t('delete.last_administrator')}</p>`
    : html`<form method="post" action="/account/delete">
<label for="email">${view.t('delete.confirm', { email: namedEmail(email) })}</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="off" autocapitalize="none" spellcheck="false" required
 maxlength="254">
<button type="submit" id="delete-submit" class="danger">${view.t('delete.submit')}</button>
</form>`
}`,
});

export const accountDeletedPage = (view: View): Page => ({
  title: view.plain('delete.done_title'),
  content: html`<h1>${view.t('delete.done_title')}</h1>
<p>${view.t('delete.done')}</p>
<p><a href="/signin">${view.t('signin.title')}</a></p>`,
});
