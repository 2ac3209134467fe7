import type { FieldProblem } from '../errors.ts';
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
