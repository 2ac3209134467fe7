import { type Html, html } from '../http/html.ts';
import type { Page } from '../http/page.ts';

export type SignInForm = {
  /** The waiting authorization request, or where to go afterwards. */
  request_id?: string;
  next?: string;
  username?: string;
  /** Which application the person is on the way to. */
  clientName?: string;
  problem?: string;
  endsAt?: string;
};

const hidden = (name: string, value: string | undefined): Html | false =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`;

export const alert = (problem: string | undefined): Html | false =>
  problem !== undefined && html`<div class="alert" role="alert" id="problem"><p>${problem}</p></div>`;

export const signInPage = (form: SignInForm): Page => ({
  title: 'Sign in',
  endsAt: form.endsAt,
  content: html`<h1>Sign in</h1>
<p class="soft">${form.clientName ? html`to continue to <strong>${form.clientName}</strong>` : 'to your account'}</p>
${alert(form.problem)}
<form method="post" action="/signin">
${hidden('request', form.request_id)}${hidden('next', form.next)}
<label for="username">E-mail address</label>
<input id="username" name="username" type="email" autocomplete="username" inputmode="email" autocapitalize="none"
 spellcheck="false" required maxlength="254" value="${form.username ?? ''}"${form.username ? '' : html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
 ${form.problem ? html`aria-describedby="problem"` : ''}${form.username ? html` autofocus` : ''}>
<button id="signin-submit" type="submit">Sign in</button>
</form>`,
});

export type AccountChoice = { request_id: string; clientName: string; email: string; endsAt: string };

export const accountChoicePage = (choice: AccountChoice): Page => ({
  title: 'Choose an account',
  endsAt: choice.endsAt,
  content: html`<h1>Choose an account</h1>
<p class="soft">to continue to <strong>${choice.clientName}</strong></p>
<form method="post" action="/signin/account">
${hidden('request', choice.request_id)}
<button type="submit" id="continue-as">Continue as ${choice.email}</button>
</form>
<p><a href="/signin?request=${choice.request_id}">Use another account</a></p>`,
});
