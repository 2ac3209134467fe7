import { clientTypes } from '../../clients/client.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { algorithms } from '../../clients/signing-algorithm.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { foreign } from '../../platform/text/foreign-text.ts';
import { linesOf, scopeField, type Typed } from './typed.ts';

type Drawn = { view: View; typed: Typed; problems: readonly FieldProblem[] };

/** What is wrong in a form, above it; each field says more. */
export const formAlert = (view: View, problems: readonly FieldProblem[]): Html | false =>
  problems.length > 0 &&
  html`<div class="alert" role="alert" id="problem"><p>${view.t('developer.form.problem')}</p></div>`;

export const nameField = (drawn: Drawn): Html => html`<label for="name">${drawn.view.t('developer.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${drawn.typed.name}"${described(drawn, 'name')}>
${hint(drawn, 'name')}${problemBox(drawn, 'name')}`;

/** Chosen once: a browser that holds a secret is no better for having been told later. */
export const typeField = (
  drawn: Drawn,
): Html => html`<fieldset><legend>${drawn.view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) =>
  radio(drawn, 'client_type', type, {
    label: `developer.client_type.${type}`,
    hint: `developer.client_type.${type}.hint`,
    isChosen: drawn.typed.client_type === type,
  }),
)}${problemBox(drawn, 'client_type')}</fieldset>`;

export const redirectField = (
  drawn: Drawn,
): Html => html`<label for="redirect_uris">${drawn.view.t('developer.redirect_uris')}</label>
<textarea id="redirect_uris" name="redirect_uris" rows="4" required spellcheck="false" autocapitalize="none"
 autocomplete="off" wrap="off"${described(drawn, 'redirect_uris')}>
${drawn.typed.redirect_uris}</textarea>
${hint(drawn, 'redirect_uris')}${problemBox(drawn, 'redirect_uris')}`;

export const scopeFields = (drawn: Drawn): Html => html`<fieldset><legend>${drawn.view.t('developer.scopes')}</legend>
<p class="hint">${drawn.view.t('developer.scopes.hint')}</p>
${scopeNames.map(
  (scope) => html`<label><input type="checkbox" name="${scopeField(scope)}" value="on"${
    drawn.typed.allowed_scopes.includes(scope) && html` checked`
  }> ${drawn.view.t(`scope.${scope}`)} <code>${scope}</code></label>
`,
)}${problemBox(drawn, 'allowed_scopes')}</fieldset>`;

export const algorithmField = (
  drawn: Drawn,
): Html => html`<fieldset><legend>${drawn.view.t('developer.algorithm')}</legend>
${algorithms.map((algorithm) =>
  radio(drawn, 'id_token_signed_response_alg', algorithm, {
    label: `developer.algorithm.${algorithm}`,
    hint: `developer.algorithm.${algorithm}.hint`,
    isChosen: drawn.typed.id_token_signed_response_alg === algorithm,
  }),
)}${problemBox(drawn, 'id_token_signed_response_alg')}</fieldset>`;

export const addressField = (
  drawn: Drawn,
  name: 'homepage_url' | 'logo_url',
): Html => html`<label for="${name}">${drawn.view.t(`developer.${name}`)}</label>
<input id="${name}" name="${name}" inputmode="url" spellcheck="false" autocapitalize="none" autocomplete="off"
 value="${drawn.typed[name]}"${described(drawn, name)}>
${hint(drawn, name)}${problemBox(drawn, name)}`;

type Choice = { label: MessageKey; hint: MessageKey; isChosen: boolean };

const radio = ({ view }: Drawn, name: string, value: string, choice: Choice): Html => html`<label>
<input type="radio" name="${name}" value="${value}" required${choice.isChosen && html` checked`}
 aria-describedby="${name}-${value}-hint"> ${view.t(choice.label)}</label>
<p class="hint" id="${name}-${value}-hint">${view.t(choice.hint)}</p>
`;

type Explained = 'name' | 'redirect_uris' | 'homepage_url' | 'logo_url';

const hint = ({ view }: Drawn, name: Explained): Html =>
  html`<p class="hint" id="${name}-hint">${view.t(`developer.${name}.hint`)}</p>\n`;

const described = ({ problems }: Drawn, name: Explained): Html =>
  html` aria-describedby="${name}-hint ${name}-problem"${problemsOf(problems, name).length > 0 && html` aria-invalid="true"`}`;

/** There from the start, so that the script has a place for what it learns while somebody types. */
function problemBox({ view, typed, problems }: Drawn, name: keyof Typed): Html {
  const found = problemsOf(problems, name);
  return html`<div class="alert" role="alert" id="${name}-problem"${found.length === 0 && html` hidden`}><ul>${found.map(
    (problem) =>
      html`<li>${wrongLine(typed, problem)}${problem.say ? view.t(problem.say.key, problem.say.values) : problem.message}</li>`,
  )}</ul></div>\n`;
}

const problemsOf = (problems: readonly FieldProblem[], name: string) =>
  problems.filter(({ path }) => path === name || path.startsWith(`${name}/`));

/** Of several redirect URIs the one that is meant. */
function wrongLine(typed: Typed, { path }: FieldProblem): Html | false {
  const [, place] = /^redirect_uris\/(\d+)$/.exec(path) ?? [];
  const line = place === undefined ? undefined : linesOf(typed.redirect_uris)[Number(place)];
  return line !== undefined && html`<code>${foreign(line, 200)}</code> `;
}
