import { clientTypes } from '../../clients/client.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { algorithms } from '../../clients/signing-algorithm.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { type FormValues, linesOf, scopeField } from './form-values.ts';

type FormContext = { view: View; formValues: FormValues; problems: readonly FieldProblem[] };

/** What is wrong in a form, above it; each field says more. */
export const formAlert = (view: View, problems: readonly FieldProblem[]): Html | false =>
  problems.length > 0 &&
  html`<div class="alert" role="alert" id="problem"><p>${view.t('developer.form.problem')}</p></div>`;

export const nameField = (
  context: FormContext,
): Html => html`<label for="name">${context.view.t('developer.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${context.formValues.name}"${described(context, 'name')}>
${hint(context, 'name')}${problemBox(context, 'name')}`;

/** Chosen once: a browser that holds a secret is no better for having been told later. */
export const typeField = (
  context: FormContext,
): Html => html`<fieldset><legend>${context.view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) =>
  radio(context, 'client_type', type, {
    label: `developer.client_type.${type}`,
    hint: `developer.client_type.${type}.hint`,
    isChosen: context.formValues.client_type === type,
  }),
)}${problemBox(context, 'client_type')}</fieldset>`;

export const redirectField = (
  context: FormContext,
): Html => html`<label for="redirect_uris">${context.view.t('developer.redirect_uris')}</label>
<textarea id="redirect_uris" name="redirect_uris" rows="4" required spellcheck="false" autocapitalize="none"
 autocomplete="off" wrap="off"${described(context, 'redirect_uris')}>
${context.formValues.redirect_uris}</textarea>
${hint(context, 'redirect_uris')}${problemBox(context, 'redirect_uris')}`;

export const scopeFields = (
  context: FormContext,
): Html => html`<fieldset><legend>${context.view.t('developer.scopes')}</legend>
<p class="hint">${context.view.t('developer.scopes.hint')}</p>
${scopeNames.map(
  (scope) => html`<label><input type="checkbox" name="${scopeField(scope)}" value="on"${
    context.formValues.allowed_scopes.includes(scope) && html` checked`
  }> ${context.view.t(`scope.${scope}`)} <code>${scope}</code></label>
`,
)}${problemBox(context, 'allowed_scopes')}</fieldset>`;

export const algorithmField = (
  context: FormContext,
): Html => html`<fieldset><legend>${context.view.t('developer.algorithm')}</legend>
${algorithms.map((algorithm) =>
  radio(context, 'id_token_signed_response_alg', algorithm, {
    label: `developer.algorithm.${algorithm}`,
    hint: `developer.algorithm.${algorithm}.hint`,
    isChosen: context.formValues.id_token_signed_response_alg === algorithm,
  }),
)}${problemBox(context, 'id_token_signed_response_alg')}</fieldset>`;

export const addressField = (
  context: FormContext,
  name: 'homepage_url' | 'logo_url',
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<input id="${name}" name="${name}" inputmode="url" spellcheck="false" autocapitalize="none" autocomplete="off"
 value="${context.formValues[name]}"${described(context, name)}>
${hint(context, name)}${problemBox(context, name)}`;

type Choice = { label: MessageKey; hint: MessageKey; isChosen: boolean };

const radio = ({ view }: FormContext, name: string, value: string, choice: Choice): Html => html`<label>
<input type="radio" name="${name}" value="${value}" required${choice.isChosen && html` checked`}
 aria-describedby="${name}-${value}-hint"> ${view.t(choice.label)}</label>
<p class="hint" id="${name}-${value}-hint">${view.t(choice.hint)}</p>
`;

type Explained = 'name' | 'redirect_uris' | 'homepage_url' | 'logo_url';

const hint = ({ view }: FormContext, name: Explained): Html =>
  html`<p class="hint" id="${name}-hint">${view.t(`developer.${name}.hint`)}</p>\n`;

const described = ({ problems }: FormContext, name: Explained): Html =>
  html` aria-describedby="${name}-hint ${name}-problem"${problemsOf(problems, name).length > 0 && html` aria-invalid="true"`}`;

/** There from the start, so that the script has a place for what it learns while somebody types. */
function problemBox({ view, formValues, problems }: FormContext, name: keyof FormValues): Html {
  const found = problemsOf(problems, name);
  return html`<div class="alert" role="alert" id="${name}-problem"${found.length === 0 && html` hidden`}><ul>${found.map(
    (problem) =>
      html`<li>${wrongLine(formValues, problem)}${problem.userMessage ? view.t(problem.userMessage.key, problem.userMessage.values) : problem.message}</li>`,
  )}</ul></div>\n`;
}

const problemsOf = (problems: readonly FieldProblem[], name: string) =>
  problems.filter(({ path }) => path === name || path.startsWith(`${name}/`));

/** Of several redirect URIs the one that is meant. */
function wrongLine(formValues: FormValues, { path }: FieldProblem): Html | false {
  const [, place] = /^redirect_uris\/(\d+)$/.exec(path) ?? [];
  const line = place === undefined ? undefined : linesOf(formValues.redirect_uris)[Number(place)];
  return line !== undefined && html`<code>${untrusted(line, 200)}</code> `;
}
