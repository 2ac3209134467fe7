import { html } from '../http/html.ts';
import type { Page } from '../http/page.ts';

export type InvitationForm = {
  token: string;
  email?: string;
  name?: string;
  problems?: readonly { path: string; message: string }[];
};

export const invitationPage = ({ token, email, name, problems = [] }: InvitationForm): Page => ({
  title: 'Become an administrator',
  content: html`<h1>Become an administrator</h1>
<p class="soft">This link makes one administrator's account, once. You will sign in with it right away.</p>
${
  problems.length > 0 &&
  html`<div class="alert" role="alert" id="problem"><ul>${problems.map(({ message }) => html`<li>${message}</li>`)}</ul></div>`
}
<form method="post" action="/invite/${token}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" autofocus value="${email ?? ''}">
<label for="name">Name</label>
<input id="name" name="name" autocomplete="name" required maxlength="100" value="${name ?? ''}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="15"
 aria-describedby="password-hint">
<p class="hint" id="password-hint">At least 15 characters. A few ordinary words in a row are good and easy to remember.</p>
<button type="submit" id="invite-submit">Create the account</button>
</form>`,
});
