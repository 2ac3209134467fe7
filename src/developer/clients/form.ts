import { acrValuesFor, clientTypes, type SecondFactor, secondFactorOf, secondFactors } from '../../clients/choices.ts';
import type { ClientField } from '../../clients/client-field.ts';
import { type FieldName, type FieldsOf, fieldNames, fieldOf, linkFields } from '../../clients/fields.ts';
import { findLibrary, signOutTargets } from '../../clients/libraries/catalogue.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { libraryName, libraryOptions } from '../setup/setup.ts';
import { type FormValues, linesOf, scopeField, valuesBehind, wordsOf } from './form-values.ts';

/** The form as it was filled in, right or wrong. */
export type ClientForm = {
  formValues: FormValues;
  /** What there is to choose from. */
  scopes: ScopeRegister;
  problems?: readonly FieldProblem[];
  /** Of the form as a whole, rather than of a field. */
  refusal?: Renderable;
};
type FormContext = Pick<Required<ClientForm>, 'formValues' | 'problems' | 'scopes'> & { view: View };
type Submit = { action: string; id: string; label: MessageKey };

export const formAlerts = (view: View, { problems = [], refusal }: ClientForm): Html =>
  html`${alert(refusal)}${
    problems.length > 0 &&
    html`<div class="alert" role="alert" id="problem"><p>${view.t('developer.form.problem')}</p></div>`
  }`;

/** @param revision of the client that is edited; its type cannot be changed. Left out: for a registration. */
export function clientForm(
  view: View,
  { formValues, scopes, problems = [] }: ClientForm,
  submit: Submit,
  revision?: number,
): Html {
  const context = { view, formValues, scopes, problems };
  return html`<form method="post" action="${submit.action}" id="client-form" data-check="/v1/oauth/clients/check">
${hidden('revision', revision?.toString())}
${fieldsIn('main').map(
  (name) =>
    html`${field(context, name)}${name === 'name' && libraryAdvice(view, formValues.library)}${
      name === 'redirect_uris' && revision !== undefined && field(context, 'post_logout_redirect_uris')
    }`,
)}
${folded(context, 'technical', librarySummary(context, revision), fieldsIn('technical'), technicalForm(context, revision))}
${folded(context, 'more', view.t('developer.form.more'), [...fieldsIn('more'), 'note_to_reviewer'], moreForm(context, revision))}
${revision !== undefined && noteToReviewer(context)}
<button type="submit" id="${submit.id}">${view.t(submit.label)}</button>
</form>`;
}

/**
 * Asks for what no choice of a library tells. The rest is sent as it was set for it, and can be changed on the client's page.
 * @param all the path of the form that asks for everything.
 */
export function shortClientForm(
  view: View,
  { formValues, scopes, problems = [] }: ClientForm,
  { action, id, label, kind, all }: Submit & { kind: string; all: string },
): Html {
  const context = { view, formValues, scopes, problems };
  const library = findLibrary(formValues.library);
  return html`<form method="post" action="${action}" id="client-form" data-check="/v1/oauth/clients/check">
${hidden('kind', kind)}${valuesBehind(formValues).map(
  (one) =>
    html`<input type="hidden" name="${one.name}" value="${one.value}"${one.kind === 'choice' && html` data-kind="choice"`}>\n`,
)}${field(context, 'name')}${libraryAdvice(view, formValues.library)}${field(context, 'redirect_uris')}
<p class="hint">${view.t('developer.form.rest', { library: library === undefined ? '' : libraryName(view, library) })} <a href="${all}" id="register-all">${view.t('developer.form.all')}</a></p>
<button type="submit" id="${id}">${view.t(label)}</button>
</form>`;
}

/** Of a change it says what the reviewer cannot see; of a registration it is one of what few need. */
const noteToReviewer = (
  context: FormContext,
): Html => html`<label for="note_to_reviewer">${context.view.t('developer.note_to_reviewer')}</label>
<textarea id="note_to_reviewer" name="note_to_reviewer" data-kind="text" rows="3" maxlength="500"${described(context, 'note_to_reviewer')}>
${context.formValues.note_to_reviewer}</textarea>
${hint(context.view, 'note_to_reviewer')}${problemBox(context, 'note_to_reviewer')}`;

/** What few change. It is open where something in it is wrong. */
const folded = (
  { problems }: FormContext,
  id: string,
  summary: Html,
  names: readonly (keyof FormValues)[],
  content: Html,
): Html => html`<details id="${id}"${names.some((name) => problemsOf(problems, name).length > 0) && html` open`}>
<summary>${summary}</summary>
${content}</details>`;

const fieldsIn = (part: ClientField['part']) => fieldNames.filter((name) => fieldOf(name).part === part);

function librarySummary({ view, formValues }: FormContext, revision: number | undefined): Html {
  const library = revision === undefined ? findLibrary(formValues.library) : undefined;
  if (library === undefined) return view.t('developer.form.technical');
  return view.t('developer.form.library', { library: libraryName(view, library) });
}

/** The choice of a library has filled them in. */
const technicalForm = (context: FormContext, revision: number | undefined): Html => html`${field(context, 'library')}
${
  revision === undefined &&
  html`<fieldset><legend>${context.view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) => radio(context, 'client_type', 'client_type', type))}${problemBox(context, 'client_type')}</fieldset>`
}
${revision === undefined && signOutSelect(context)}
${fieldsIn('technical').map((name) => name !== 'library' && field(context, name))}`;

/** That of a client that is edited has its addresses for sign-out above. */
const moreForm = (context: FormContext, revision: number | undefined): Html => {
  const isAbove = (name: FieldName) => name === 'post_logout_redirect_uris' && revision !== undefined;
  const rest = fieldsIn('more').filter((name) => !linkFields.some((link) => link === name));
  return html`${revision === undefined && noteToReviewer(context)}${[...linkFields, ...rest].map((name) => !isAbove(name) && field(context, name))}`;
};

/** As its control says. */
function field(context: FormContext, name: FieldName): Html {
  const { control } = fieldOf(name);
  if (control.kind === 'text') return textField(context, name as FieldsOf<'text'>);
  if (control.kind === 'lines') return uriList(context, name as FieldsOf<'lines'>);
  if (control.kind === 'json') return jsonArea(context, name as FieldsOf<'json'>);
  if (control.kind === 'switch') return checkbox(context, name as FieldsOf<'switch'>);
  if (control.kind === 'scopes') return scopeBoxes(context);
  const { view } = context;
  if (control.kind === 'library') {
    const options = libraryOptions(view, context.formValues.library);
    return select(context, name, html`<option value="">${view.t('developer.library.none')}</option>${options}`);
  }
  if (control.kind === 'choice' && control.as === 'select') {
    const chosen = context.formValues[name];
    const option = (value: string, text: string) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${choiceText(view, control.texts, text)}</option>`;
    return select(
      context,
      name,
      html`${control.unset !== undefined && option('', control.unset)}${control.values.map((one) => option(one, one))}`,
    );
  }
  const choices =
    control.kind === 'choice'
      ? control.values.map((value) => radio(context, name, control.texts, value))
      : secondFactors.map((one) => secondFactorRadio(context, one));
  return html`<fieldset><legend>${view.t(`clients.field.${name}`)}</legend>
${choices}${problemBox(context, name)}</fieldset>`;
}

const choiceText = (view: View, texts: string, value: string, more = '') =>
  view.t(`developer.${texts}.${value}${more}` as MessageKey);

const select = (
  context: FormContext,
  name: FieldName,
  options: Html,
): Html => html`<label for="${name}">${context.view.t(`clients.field.${name}`)}</label>
<select id="${name}" name="${name}"${fieldOf(name).control.kind === 'choice' && html` data-kind="choice"`}${described(context, name)}>
${options}</select>
${hint(context.view, name)}${problemBox(context, name)}`;

/** Ours, and below them those of each API under its name. */
function scopeBoxes(context: FormContext): Html {
  const { view, formValues, scopes } = context;
  const box = ({ name, describe, api }: ReturnType<ScopeRegister['list']>[number]) =>
    html`<label><input type="checkbox" name="${scopeField(name)}" value="on"${
      formValues.allowed_scopes.includes(name) && html` checked`
    }> ${api ? untrusted(describe(view.locale)) : describe(view.locale)} <code>${name}</code></label>
`;
  const byApi = [...Map.groupBy(scopes.list(), ({ api }) => api)];
  return html`<fieldset><legend>${view.t('developer.scopes')}</legend>
<p class="hint">${view.t('developer.scopes.hint')}</p>
${byApi.map(
  ([api, list]) =>
    html`${
      api &&
      html`<p><strong>${view.t('scope.of_api', { api: untrusted(api.name) })}</strong> <code>${api.identifier}</code></p>
`
    }${list.map(box)}`,
)}${problemBox(context, 'allowed_scopes')}</fieldset>`;
}

/** What the snippets return to is registered with the rest, unless it is not wanted. */
const signOutSelect = ({
  view,
  formValues,
}: FormContext): Html => html`<label for="sign_out">${view.t('developer.sign_out')}</label>
<select id="sign_out" name="sign_out" aria-describedby="sign_out-hint">${signOutTargets.map(
  (target) =>
    html`<option value="${target}"${target === formValues.sign_out && html` selected`}>${view.t(`developer.sign_out.${target}`)}</option>`,
)}</select>
<p class="hint" id="sign_out-hint">${view.t('developer.sign_out.hint')}</p>`;

/** What the library calls for, while the form is filled in. */
function libraryAdvice(view: View, id: string): Html | false {
  const library = findLibrary(id);
  if (library === undefined || library.id === 'other') return false;
  const { callback, pkce, refreshes_in_parallel, algorithms: verified } = library;
  const name = libraryName(view, library);
  const advice = [
    !verified.includes('EdDSA') && view.t('developer.advice.algorithm', { library: name }),
    callback !== null && view.t('developer.gap.callback', { library: name, callback: html`<code>${callback}</code>` }),
    pkce !== null && view.t('developer.advice.pkce', { library: name, setting: html`<code>${pkce}</code>` }),
    refreshes_in_parallel && view.t('developer.advice.retry_window', { library: name }),
  ].filter((one) => one !== false);
  return (
    advice.length > 0 &&
    html`<div class="advice" id="library-advice"><ul>${advice.map((one) => html`<li>${one}</li>`)}</ul></div>`
  );
}

const uriList = (
  context: FormContext,
  name: FieldsOf<'lines'>,
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<textarea id="${name}" name="${name}" data-kind="lines" rows="4"${name === 'redirect_uris' && html` required`} spellcheck="false"
 autocapitalize="none" autocomplete="off" wrap="off"${described(context, name)}>
${context.formValues[name]}</textarea>
${hint(context.view, name)}${problemBox(context, name)}`;

/** A page never shows a private key, not even to who has sent it. */
const jsonArea = (
  context: FormContext,
  name: FieldsOf<'json'>,
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<textarea id="${name}" name="${name}" data-kind="json" rows="4" spellcheck="false" autocapitalize="none" autocomplete="off"
 wrap="off"${described(context, name)}>
${holdsPrivateKey(context, name) ? '' : context.formValues[name]}</textarea>
${hint(context.view, name)}${problemBox(context, name)}`;

const holdsPrivateKey = ({ problems }: FormContext, name: FieldName) =>
  problems.some(({ path, userMessage }) => path === name && userMessage?.key === 'problem.jwks.private');

const checkbox = (
  context: FormContext,
  name: FieldsOf<'switch'>,
): Html => html`<fieldset><legend>${context.view.t(`clients.field.${name}`)}</legend>
<label><input type="checkbox" name="${name}" value="on"${context.formValues[name] && html` checked`}
 aria-describedby="${name}-hint"> ${context.view.t(`developer.${name}`)}</label>
${hint(context.view, name)}</fieldset>`;

/** Addresses are no words: but for its name, nothing of a client is spelled by a keyboard. */
const textField = (
  context: FormContext,
  name: FieldsOf<'text'>,
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<input id="${name}" name="${name}" data-kind="text" autocomplete="off"${
  name === 'name' ? html` required maxlength="100"` : html` inputmode="url" spellcheck="false" autocapitalize="none"`
} value="${context.formValues[name]}"${described(context, name)}>
${hint(context.view, name)}${problemBox(context, name)}`;

const radio = (
  { view, formValues }: FormContext,
  name: FieldName | 'client_type',
  texts: string,
  value: string,
): Html => html`<label>
<input type="radio" data-kind="choice" name="${name}" value="${value}" required${formValues[name] === value && html` checked`}
 aria-describedby="${name}-${value}-hint"> ${choiceText(view, texts, value)}</label>
<p class="hint" id="${name}-${value}-hint">${choiceText(view, texts, value, '.hint')}</p>
`;

/** Its value is the list of classes; of the one that is checked as it is stored, which may be another that means the same. */
function secondFactorRadio({ view, formValues, problems }: FormContext, one: SecondFactor): Html {
  const stored = formValues.default_acr_values;
  const isChecked = secondFactorOf(wordsOf(stored)) === one;
  const isAccepted = problemsOf(problems, 'default_acr_values').length === 0;
  return html`<label>
<input type="radio" name="default_acr_values" value="${isChecked && isAccepted ? stored : acrValuesFor(one).join(' ')}"${isChecked && html` checked`} aria-describedby="second-factor-${one}-hint"> ${view.t(`developer.second_factor.${one}`)}</label>
<p class="hint" id="second-factor-${one}-hint">${view.t(`developer.second_factor.${one}.hint`)}</p>
`;
}

type Explained = FieldName | 'note_to_reviewer';

const hint = (view: View, name: Explained): Html =>
  html`<p class="hint" id="${name}-hint">${view.t(`developer.${name}.hint` as MessageKey)}</p>\n`;

const described = ({ problems }: FormContext, name: Explained): Html =>
  html` aria-describedby="${name}-hint ${name}-problem"${problemsOf(problems, name).length > 0 && html` aria-invalid="true"`}`;

/** Hidden without problems: the script fills it in while the user is typing. */
function problemBox({ view, formValues, problems }: FormContext, name: keyof FormValues): Html {
  const found = problemsOf(problems, name);
  return html`<div class="alert" role="alert" id="${name}-problem"${found.length === 0 && html` hidden`}><ul>${found.map(
    (problem) =>
      html`<li>${wrongLine(formValues, problem)}${problem.userMessage ? view.t(problem.userMessage.key, problem.userMessage.values) : problem.message}</li>`,
  )}</ul></div>\n`;
}

const problemsOf = (problems: readonly FieldProblem[], name: string) =>
  problems.filter(({ path }) => path === name || path.startsWith(`${name}/`));

/** Of several URIs the one with the problem. */
function wrongLine(formValues: FormValues, { path }: FieldProblem): Html | false {
  const [, list, place] = /^(redirect_uris|post_logout_redirect_uris)\/(\d+)$/.exec(path) ?? [];
  const line = linesOf(formValues[list as 'redirect_uris'] ?? '')[Number(place)];
  return line !== undefined && html`<code>${untrusted(line, 200)}</code> `;
}
