import {
  acrValuesFor,
  algorithms,
  applicationTypes,
  authenticationMethods,
  type Client,
  clientTypes,
  type SecondFactor,
  secondFactorOf,
  secondFactors,
} from '../../clients/client.ts';
import { findLibrary, signOutTargets } from '../../clients/libraries/catalogue.ts';
import { scopeNames } from '../../clients/scopes.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { libraryName, libraryOptions } from '../setup/setup.ts';
import { type FormValues, linesOf, scopeField, wordsOf } from './form-values.ts';

/** The form as it was filled in, right or wrong. */
export type ClientForm = {
  formValues: FormValues;
  problems?: readonly FieldProblem[];
  /** Of the form as a whole, rather than of a field. */
  refusal?: Renderable;
};
type FormContext = Pick<Required<ClientForm>, 'formValues' | 'problems'> & { view: View };
type Submit = { action: string; id: string; label: MessageKey };

export const formAlerts = (view: View, { problems = [], refusal }: ClientForm): Html =>
  html`${alert(refusal)}${
    problems.length > 0 &&
    html`<div class="alert" role="alert" id="problem"><p>${view.t('developer.form.problem')}</p></div>`
  }`;

/** @param revision of the client that is edited; its type cannot be changed. Left out: for a registration. */
export function clientForm(
  view: View,
  { formValues, problems = [] }: ClientForm,
  submit: Submit,
  revision?: number,
): Html {
  const context = { view, formValues, problems };
  return html`<form method="post" action="${submit.action}" id="client-form" data-check="/v1/oauth/clients/check">
${hidden('revision', revision?.toString())}
<label for="name">${view.t('developer.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${formValues.name}"${described(context, 'name')}>
${hint(view, 'name')}${problemBox(context, 'name')}
${libraryAdvice(view, formValues.library)}
${uriList(context, 'redirect_uris')}
${revision === undefined ? signOutSelect(context) : uriList(context, 'post_logout_redirect_uris')}
<fieldset><legend>${view.t('developer.scopes')}</legend>
<p class="hint">${view.t('developer.scopes.hint')}</p>
${scopeNames.map(
  (scope) => html`<label><input type="checkbox" name="${scopeField(scope)}" value="on"${
    formValues.allowed_scopes.includes(scope) && html` checked`
  }> ${view.t(`scope.${scope}`)} <code>${scope}</code></label>
`,
)}${problemBox(context, 'allowed_scopes')}</fieldset>
${folded(context, 'technical', librarySummary(context, revision), technicalFields, technicalForm(context, revision))}
${folded(context, 'more', view.t('developer.form.more'), moreFields, moreForm(context, revision))}
<label for="note_to_reviewer">${view.t('developer.note_to_reviewer')}</label>
<textarea id="note_to_reviewer" name="note_to_reviewer" rows="3" maxlength="500"${described(context, 'note_to_reviewer')}>
${formValues.note_to_reviewer}</textarea>
${hint(view, 'note_to_reviewer')}${problemBox(context, 'note_to_reviewer')}
<button type="submit" id="${submit.id}">${view.t(submit.label)}</button>
</form>`;
}

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

/** The choice of a library has filled them in. */
const technicalFields = [
  'library',
  'client_type',
  'application_type',
  'id_token_signed_response_alg',
  'token_endpoint_auth_method',
] as const;

function librarySummary({ view, formValues }: FormContext, revision: number | undefined): Html {
  const library = revision === undefined ? findLibrary(formValues.library) : undefined;
  if (library === undefined) return view.t('developer.form.technical');
  return view.t('developer.form.library', { library: libraryName(view, library) });
}

const technicalForm = (
  context: FormContext,
  revision: number | undefined,
): Html => html`<label for="library">${context.view.t('clients.field.library')}</label>
<select id="library" name="library"${described(context, 'library')}>
<option value="">${context.view.t('developer.library.none')}</option>
${libraryOptions(context.view, context.formValues.library)}</select>
${hint(context.view, 'library')}${problemBox(context, 'library')}
${
  revision === undefined &&
  html`<fieldset><legend>${context.view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) => radio(context, 'client_type', type, `developer.client_type.${type}`))}${problemBox(context, 'client_type')}</fieldset>`
}
<fieldset><legend>${context.view.t('clients.field.application_type')}</legend>
${applicationTypes.map((type) => radio(context, 'application_type', type, `developer.application_type.${type}`))}${problemBox(context, 'application_type')}</fieldset>
<fieldset><legend>${context.view.t('developer.algorithm')}</legend>
${algorithms.map((algorithm) =>
  radio(context, 'id_token_signed_response_alg', algorithm, `developer.algorithm.${algorithm}`),
)}${problemBox(context, 'id_token_signed_response_alg')}</fieldset>
<label for="token_endpoint_auth_method">${context.view.t('clients.field.token_endpoint_auth_method')}</label>
<select id="token_endpoint_auth_method" name="token_endpoint_auth_method"${described(context, 'token_endpoint_auth_method')}>
<option value="">${context.view.t('developer.authentication.any')}</option>
${authenticationMethods.map(
  (method) =>
    html`<option value="${method}"${method === context.formValues.token_endpoint_auth_method && html` selected`}>${context.view.t(`developer.authentication.${method}`)}</option>`,
)}</select>
${hint(context.view, 'token_endpoint_auth_method')}${problemBox(context, 'token_endpoint_auth_method')}
<fieldset><legend>${context.view.t('clients.field.claims_in_id_token')}</legend>
${checkbox(context, 'claims_in_id_token')}</fieldset>`;

const addressFields = ['homepage_url', 'policy_uri', 'tos_uri', 'logo_url'] as const;
const moreFields = [
  'default_acr_values',
  'post_logout_redirect_uris',
  'backchannel_logout_uri',
  ...addressFields,
] as const;

const moreForm = (
  context: FormContext,
  revision: number | undefined,
): Html => html`${addressFields.map((name) => addressField(context, name))}
<fieldset><legend>${context.view.t('clients.field.default_acr_values')}</legend>
${secondFactors.map((one) => secondFactorRadio(context, one))}${problemBox(context, 'default_acr_values')}</fieldset>
${revision === undefined && uriList(context, 'post_logout_redirect_uris')}
${addressField(context, 'backchannel_logout_uri')}
<fieldset><legend>${context.view.t('clients.field.backchannel_logout_session_required')}</legend>
${checkbox(context, 'backchannel_logout_session_required')}</fieldset>`;

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
  name: 'redirect_uris' | 'post_logout_redirect_uris',
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<textarea id="${name}" name="${name}" rows="4"${name === 'redirect_uris' && html` required`} spellcheck="false" autocapitalize="none"
 autocomplete="off" wrap="off"${described(context, name)}>
${context.formValues[name]}</textarea>
${hint(context.view, name)}${problemBox(context, name)}`;

const checkbox = (
  { view, formValues }: FormContext,
  name: 'claims_in_id_token' | 'backchannel_logout_session_required',
): Html => html`<label><input type="checkbox" name="${name}" value="on"${formValues[name] && html` checked`}
 aria-describedby="${name}-hint"> ${view.t(`developer.${name}`)}</label>
${hint(view, name)}`;

const addressField = (
  context: FormContext,
  name: 'homepage_url' | 'policy_uri' | 'tos_uri' | 'logo_url' | 'backchannel_logout_uri',
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<input id="${name}" name="${name}" inputmode="url" spellcheck="false" autocapitalize="none" autocomplete="off"
 value="${context.formValues[name]}"${described(context, name)}>
${hint(context.view, name)}${problemBox(context, name)}`;

const radio = (
  { view, formValues }: FormContext,
  name: 'client_type' | 'application_type' | 'id_token_signed_response_alg',
  value: string,
  label:
    | `developer.client_type.${Client['client_type']}`
    | `developer.application_type.${Client['application_type']}`
    | `developer.algorithm.${(typeof algorithms)[number]}`,
): Html => html`<label>
<input type="radio" name="${name}" value="${value}" required${formValues[name] === value && html` checked`}
 aria-describedby="${name}-${value}-hint"> ${view.t(label)}</label>
<p class="hint" id="${name}-${value}-hint">${view.t(`${label}.hint`)}</p>
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

type Explained = Exclude<
  keyof FormValues,
  | 'client_type'
  | 'application_type'
  | 'allowed_scopes'
  | 'default_acr_values'
  | 'id_token_signed_response_alg'
  | 'sign_out'
>;

const hint = (view: View, name: Explained): Html =>
  html`<p class="hint" id="${name}-hint">${view.t(`developer.${name}.hint`)}</p>\n`;

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
