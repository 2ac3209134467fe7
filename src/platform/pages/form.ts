import type { FastifyRequest } from 'fastify';
import { type FieldProblem, refusal } from '../errors.ts';
import { FormText, parseParameters } from '../http/parameters.ts';
import { type Html, html, type Renderable } from './html.ts';
import type { View } from './view.ts';

export const hidden = (name: string, value: string | undefined): Html | false =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`;

/** What stopped a form, above it and read out at once. */
export const alert = (problem: Renderable): Html | false =>
  isSomething(problem) && html`<div class="alert" role="alert" id="problem"><p>${problem}</p></div>`;

/** What has been done. */
export const notice = (text: Renderable): Html | false =>
  isSomething(text) && html`<div class="notice" role="status"><p>${text}</p></div>`;

const isSomething = (value: Renderable) => value !== undefined && value !== false && value !== null;

/** What is wrong with the fields of a form. */
export const fieldAlert = (view: View, problems: readonly FieldProblem[]): Html | false =>
  problems.length > 0 &&
  html`<div class="alert" role="alert" id="problem"><ul>${problems.map(
    ({ userMessage, message }) => html`<li>${userMessage ? view.t(userMessage.key, userMessage.values) : message}</li>`,
  )}</ul></div>`;

/**
 * @param least characters: 15 where the password is all there is, 8 beside a second factor.
 * @param label another one where there is no old password that it could be mistaken for.
 */
export const newPasswordField = (
  view: View,
  least = 15,
  label: 'field.password' | 'field.new_password' = 'field.new_password',
): Html => html`<label for="password">${view.t(label)}</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="${least}"
 aria-describedby="password-hint">
<p class="hint" id="password-hint">${view.t('field.new_password.hint', { least })}</p>`;

/** The file of `assets/` that makes copy buttons work. */
export const copyScripts = ['developer'];

/** Hidden where there is no script to copy with: the text can be selected. @param id of the element with the text. */
export const copyButton = (view: View, id: string): Html =>
  html`<button type="button" class="quiet" data-copy="${id}" data-copied="${view.plain('developer.copied')}" hidden>${view.t('developer.copy')}</button>`;

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of the request's session, once it is read. The forms of the answer are bound to them. */
    signedInUser?: { readonly user_id: string; readonly locale: string | null };
  }
}

const field = 'drawn_for';

/**
 * Puts the user into every form of a page that was drawn for them. A page stays in its tab while another account signs in
 * in the next one; without this, its "Delete account" would delete that one. Signing out is for whoever it finds.
 */
export const bindForms = (markup: string, user_id: string): string =>
  markup.replace(
    /<form method="post"(?! action="\/signout")[^>]*>/g,
    (tag) => `${tag}<input type="hidden" name="${field}" value="${user_id}">`,
  );

/**
 * The cross-site guard says that a form is ours; this says whose. A form without the field is let through, as programs
 * send them: it guards against a mix-up, not against an attack.
 * @throws {RequestError} `invalid_state` for a form that was drawn for another user than the one who is signed in now.
 */
export function refuseFormOfAnother(request: FastifyRequest, user_id: string): void {
  if (!(request.body instanceof FormText)) return;
  const drawnFor = parseParameters(request.body.text).values[field];
  if (drawnFor === undefined || drawnFor === user_id) return;
  const details = { current_status: 'other_account' };
  throw refusal('invalid_state', { key: 'refusal.other_account' }, { details, back: '/account' });
}

/**
 * Somebody sends a form, must sign in or confirm first, and comes back to its page: the form was not acted on, and what
 * was typed is gone. The mark in the query makes the page say so, however long the way through a second factor or a
 * provider was; the next form leads to an address without it.
 */
const mark = 'unfinished';

/** @param path without a query. */
export const unfinishedAt = (path: string): string => `${path}?${mark}=1`;

/** @param query without its question mark; undefined where a page answers a form, and all is said. */
export const isUnfinished = (query: string | undefined): boolean =>
  query !== undefined && new URLSearchParams(query).get(mark) === '1';

/** @returns the page of the form; undefined if no form led away from it. */
export const pageOfUnfinished = (path: string): string | undefined => {
  const end = unfinishedAt('');
  return path.endsWith(end) ? path.slice(0, -end.length) : undefined;
};
