import { hidden } from '../../platform/pages/form.ts';
import { html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';

type AccountChoice = {
  request_id: string;
  clientName: string;
  /** Whose account is offered: the answer counts for this user alone. */
  user_id: string;
  email: string;
  endsAt: string;
};

export const accountChoicePage = (view: View, choice: AccountChoice): Page => ({
  title: view.plain('choose.title'),
  endsAt: choice.endsAt,
  content: html`<h1>${view.t('choose.title')}</h1>
<p class="soft">${view.t('signin.to_client', { client: html`<strong><bdi>${choice.clientName}</bdi></strong>` })}</p>
<form method="post" action="/signin/account">
${hidden('request', choice.request_id)}${hidden('user', choice.user_id)}
<button type="submit" id="continue-as">${view.t('choose.continue', { email: choice.email })}</button>
</form>
<p><a href="/signin?request=${choice.request_id}">${view.t('choose.other')}</a></p>`,
});
