import type { FastifyRequest } from 'fastify';
import { type FieldProblem, refusal } from '../errors.ts';
import { FormText, parseParameters } from '../http/parameters.ts';
import { newSecret } from '../ids.ts';
import { type Html, html, type Renderable } from './html.ts';
import type { View } from './view.ts';

export const hidden = (name: string, value: string | undefined): Html | false =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`;

export const alert = (problem: Renderable): Html | false =>
  isSomething(problem) && html`<div class="alert" role="alert" id="problem"><p>${problem}</p></div>`;

export const notice = (text: Renderable): Html | false =>
  isSomething(text) && html`<div class="notice" role="status"><p>${text}</p></div>`;

const isSomething = (value: Renderable) => value !== undefined && value !== false && value !== null;

export const fieldAlert = (view: View, problems: readonly FieldProblem[]): Html | false =>
  problems.length > 0 &&
  html`<div class="alert" role="alert" id="problem"><ul>${problems.map(
    ({ path, userMessage, message }) =>
      html`<li data-field="${path.split('/', 1)[0]}">${userMessage ? view.t(userMessage.key, userMessage.values) : message}</li>`,
  )}</ul></div>`;

/** What is wrong with one field, to stand at it; see {@link describedField}. */
export const problemAt = (view: View, problems: readonly FieldProblem[], name: string): Html | false => {
  const found = problems.filter(({ path }) => path.split('/')[0] === name);
  return (
    found.length > 0 &&
    html`<div class="alert" id="${name}-problem"><ul>${found.map(
      ({ userMessage, message }) =>
        html`<li>${userMessage ? view.t(userMessage.key, userMessage.values) : message}</li>`,
    )}</ul></div>`
  );
};

/** Attributes of the field: its hint, and what is wrong with it. The first one that is wrong has the focus. */
export function describedField(problems: readonly FieldProblem[], name: string, hasHint: boolean): Html {
  const isWrong = problems.some(({ path }) => path.split('/')[0] === name);
  const ids = [hasHint && `${name}-hint`, isWrong && `${name}-problem`].filter((id) => id !== false);
  return html`${ids.length > 0 && html` aria-describedby="${ids.join(' ')}"`}${isWrong && html` aria-invalid="true"`}${
    firstWrong(problems) === name && html` autofocus`
  }`;
}

/** For pages with a {@link passwordInput}. */
export const passwordScripts = ['password'];

type PasswordInput = {
  autocomplete: 'current-password' | 'new-password';
  /** Characters. */
  min?: number;
  /** Ids of elements. */
  describedBy?: string;
  autofocus?: boolean;
  isWrong?: boolean;
};

/** With a button that shows what is typed, hidden without JavaScript. */
export const passwordInput = (
  view: View,
  { autocomplete, min, describedBy, autofocus, isWrong }: PasswordInput,
): Html => html`<div class="password">
<input id="password" name="password" type="password" autocomplete="${autocomplete}" autocapitalize="none" autocorrect="off"
 spellcheck="false" required${min !== undefined && html` minlength="${min}"`}${
   describedBy !== undefined && html` aria-describedby="${describedBy}"`
 }${isWrong && html` aria-invalid="true"`}${autofocus && html` autofocus`}>
<button type="button" class="quiet" data-reveal="password" aria-label="${view.plain('field.password.show')}"
 title="${view.plain('field.password.show')}" aria-pressed="false" aria-controls="password" hidden>${eye}</button>
</div>`;

/** Struck through while the password is hidden. */
const eye = html`<svg viewBox="0 0 24 24" width="22" height="22" fill="none"
 stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M2.5 12s3.5-6.5 9.5-6.5 9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12z"/>
<circle cx="12" cy="12" r="3"/><path class="strike" d="M4 20 20 4"/></svg>`;

/**
 * The account that a password is of, in a form that does not ask for it. Password managers read text fields alone, shown or not, and
 * leave what is read-only as it is.
 */
export const accountNameField = (email: string): Html =>
  html`<input type="text" name="username" autocomplete="username" value="${email}" readonly hidden>`;

type NewPassword = {
  /** Characters: 15 where the password is the only factor, 8 beside a second one. */
  min?: number;
  /** Where an account is created, no other password could be meant. */
  label?: 'field.password' | 'field.new_password';
  autofocus?: boolean;
  /** Why the form was refused. */
  problems?: readonly FieldProblem[];
};

export function newPasswordField(
  view: View,
  { min = 15, label = 'field.new_password', autofocus = false, problems = [] }: NewPassword = {},
): Html {
  const isWrong = firstWrong(problems) === 'password';
  const input = passwordInput(view, {
    autocomplete: 'new-password',
    min,
    describedBy: isWrong ? 'problem password-hint' : 'password-hint',
    autofocus: autofocus || isWrong,
    isWrong,
  });
  return html`<label for="password">${view.t(label)}</label>
${input}
<p class="hint" id="password-hint">${view.t('field.new_password.hint', { min })}</p>
<p class="hint" data-count="password" data-min="${min}" data-short="${view.plain('field.new_password.count', { min, count: '{count}' })}" data-enough="${view.plain('field.new_password.enough')}" hidden></p>`;
}

/** The name of the first field that was refused: where the form continues. */
export const firstWrong = (problems: readonly FieldProblem[]): string | undefined => problems[0]?.path.split('/')[0];

/** For pages with a {@link copyButton}. */
export const copyScripts = ['developer'];

/** Hidden without JavaScript: the text can be selected. @param id of the element with the text. */
export const copyButton = (view: View, id: string): Html =>
  html`<button type="button" class="quiet" data-copy="${id}" data-copied="${view.plain('developer.copied')}" hidden>${view.t('developer.copy')}</button>`;

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of the session, once it is read. The forms of the answer are bound to them. */
    signedInUser?: SignedInUser;
  }
}

export type SignedInUser = {
  readonly user_id: string;
  readonly session_id: string;
  readonly locale: string | null;
  readonly name: string | null;
  readonly email: string;
  readonly picture: string | null;
  readonly role: string;
};

const field = 'drawn_for';
const idField = 'form_id';

/** Hidden fields that every form has for itself, whatever it is about. */
export const ownFields: readonly string[] = [field, idField];

/**
 * Gives every form of a page an id, under which it acts once, and the user for whom the page was rendered. A page stays in
 * its tab while another user signs in in the next one; without this, its "Delete account" would delete that user's. Sign-out is
 * for any user, and a form that is posted to a client is the client's.
 */
export function bindForms(markup: string, user_id: string | undefined): string {
  const form_id = newSecret('fm_');
  const own = html`${hidden(field, user_id)}${hidden(idField, form_id)}`;
  return markup.replace(/<form method="post"(?! action="(?:\/signout"|https?:))[^>]*>/g, (tag) => `${tag}${own}`);
}

/** @param text of a form as it was sent. */
export const formIdOf = (text: string): string | undefined => /(?:^|&)form_id=(fm_[\w-]{43})(?:&|$)/.exec(text)?.[1];

/**
 * A form without the field is accepted, as programs send them: this prevents a mix-up, not an attack.
 * @throws {RequestError} `invalid_state` for a form that was rendered for another user than the one who is signed in now.
 */
export function refuseFormOfAnother(request: FastifyRequest, user_id: string): void {
  const { operation, page } = request.routeOptions.config;
  const isApi = operation !== undefined && page !== true; // no form of a page leads there
  if (isApi || !(request.body instanceof FormText)) return;
  const drawnFor = parseParameters(request.body.text).values[field];
  if (drawnFor === undefined || drawnFor === user_id) return;
  const details = { current_status: 'other_account' };
  throw refusal('invalid_state', { key: 'refusal.other_account' }, { details, title: { key: 'error.other_account' } });
}

/** In the query of a form's page if its submission led to a sign-in: the form was not processed, and the page says so. */
const mark = 'unfinished';

/** @param path without a query. @param query what the page of the form had in its query. */
export const unfinishedAt = (path: string, query: Readonly<Record<string, string>> = {}): string =>
  `${path}?${new URLSearchParams({ ...query, [mark]: '1' })}`;

/** @param query without its question mark; undefined where a page answers a form. */
export const isUnfinished = (query: string | undefined): boolean =>
  query !== undefined && new URLSearchParams(query).get(mark) === '1';

/** @returns the page of the form, if it is one of {@link unfinishedAt}. */
export const pageOfUnfinished = (path: string): string | undefined =>
  path.endsWith(unfinishedAt('')) ? path.slice(0, -unfinishedAt('').length) : undefined;
