import {
  acrValuesFor,
  algorithms,
  applicationTypes,
  authenticationMethods,
  type Client,
  clientTypes,
  proposalOf,
  type SecondFactor,
  secondFactorOf,
  secondFactors,
} from '../../clients/client.ts';
import { findLibrary } from '../../clients/libraries/catalogue.ts';
import { defaultAllowedScopes, scopeNames } from '../../clients/scopes.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { libraryName, libraryOptions } from '../setup/setup.ts';

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
<label for="library">${view.t('clients.field.library')}</label>
<select id="library" name="library"${described(context, 'library')}>
<option value="">${view.t('developer.library.none')}</option>
${libraryOptions(view, formValues.library)}</select>
${hint(view, 'library')}${problemBox(context, 'library')}
${libraryAdvice(view, formValues.library)}
${
  revision === undefined &&
  html`<fieldset><legend>${view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) => radio(context, 'client_type', type, `developer.client_type.${type}`))}${problemBox(context, 'client_type')}</fieldset>`
}
<fieldset><legend>${view.t('clients.field.application_type')}</legend>
${applicationTypes.map((type) => radio(context, 'application_type', type, `developer.application_type.${type}`))}${problemBox(context, 'application_type')}</fieldset>
${uriList(context, 'redirect_uris')}
${uriList(context, 'post_logout_redirect_uris')}
<fieldset><legend>${view.t('developer.scopes')}</legend>
<p class="hint">${view.t('developer.scopes.hint')}</p>
${scopeNames.map(
  (scope) => html`<label><input type="checkbox" name="${scopeField(scope)}" value="on"${
    formValues.allowed_scopes.includes(scope) && html` checked`
  }> ${view.t(`scope.${scope}`)} <code>${scope}</code></label>
`,
)}${problemBox(context, 'allowed_scopes')}</fieldset>
<fieldset><legend>${view.t('clients.field.default_acr_values')}</legend>
${secondFactors.map((one) => secondFactorRadio(context, one))}${problemBox(context, 'default_acr_values')}</fieldset>
<fieldset><legend>${view.t('developer.algorithm')}</legend>
${algorithms.map((algorithm) =>
  radio(context, 'id_token_signed_response_alg', algorithm, `developer.algorithm.${algorithm}`),
)}${problemBox(context, 'id_token_signed_response_alg')}</fieldset>
<label for="token_endpoint_auth_method">${view.t('clients.field.token_endpoint_auth_method')}</label>
<select id="token_endpoint_auth_method" name="token_endpoint_auth_method"${described(context, 'token_endpoint_auth_method')}>
<option value="">${view.t('developer.authentication.any')}</option>
${authenticationMethods.map(
  (method) =>
    html`<option value="${method}"${method === formValues.token_endpoint_auth_method && html` selected`}>${view.t(`developer.authentication.${method}`)}</option>`,
)}</select>
${hint(view, 'token_endpoint_auth_method')}${problemBox(context, 'token_endpoint_auth_method')}
<fieldset><legend>${view.t('clients.field.claims_in_id_token')}</legend>
${checkbox(context, 'claims_in_id_token')}</fieldset>
${addressField(context, 'backchannel_logout_uri')}
<fieldset><legend>${view.t('clients.field.backchannel_logout_session_required')}</legend>
${checkbox(context, 'backchannel_logout_session_required')}</fieldset>
${addressField(context, 'homepage_url')}
${addressField(context, 'policy_uri')}
${addressField(context, 'tos_uri')}
${addressField(context, 'logo_url')}
<button type="submit" id="${submit.id}">${view.t(submit.label)}</button>
</form>`;
}

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
  'client_type' | 'application_type' | 'allowed_scopes' | 'default_acr_values' | 'id_token_signed_response_alg'
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

type FormValues = {
  name: string;
  library: string;
  client_type: string;
  application_type: string;
  /** One a line. */
  redirect_uris: string;
  /** One a line. */
  post_logout_redirect_uris: string;
  allowed_scopes: readonly string[];
  /** Separated by spaces. */
  default_acr_values: string;
  id_token_signed_response_alg: string;
  token_endpoint_auth_method: string;
  claims_in_id_token: boolean;
  backchannel_logout_uri: string;
  backchannel_logout_session_required: boolean;
  homepage_url: string;
  policy_uri: string;
  tos_uri: string;
  logo_url: string;
};

/** Each scope has a field of its own, because a parameter that comes twice is refused. */
const scopeField = (scope: string): string => `scope ${scope}`;

export const readFormValues = (form: Parameters): FormValues => ({
  name: form.name ?? '',
  library: form.library ?? '',
  client_type: form.client_type ?? '',
  application_type: form.application_type ?? '',
  redirect_uris: form.redirect_uris ?? '',
  post_logout_redirect_uris: form.post_logout_redirect_uris ?? '',
  allowed_scopes: scopeNames.filter((scope) => form[scopeField(scope)] !== undefined),
  default_acr_values: form.default_acr_values ?? '',
  id_token_signed_response_alg: form.id_token_signed_response_alg ?? '',
  token_endpoint_auth_method: form.token_endpoint_auth_method ?? '',
  claims_in_id_token: form.claims_in_id_token !== undefined,
  backchannel_logout_uri: form.backchannel_logout_uri?.trim() ?? '',
  backchannel_logout_session_required: form.backchannel_logout_session_required !== undefined,
  homepage_url: form.homepage_url?.trim() ?? '',
  policy_uri: form.policy_uri?.trim() ?? '',
  tos_uri: form.tos_uri?.trim() ?? '',
  logo_url: form.logo_url?.trim() ?? '',
});

export const emptyForm: FormValues = {
  ...readFormValues({}),
  allowed_scopes: defaultAllowedScopes,
  id_token_signed_response_alg: 'EdDSA',
};

export function formValuesOf(client: Client): FormValues {
  const proposal = proposalOf(client);
  return {
    ...proposal,
    redirect_uris: proposal.redirect_uris.join('\n'),
    post_logout_redirect_uris: proposal.post_logout_redirect_uris.join('\n'),
    default_acr_values: proposal.default_acr_values.join(' '),
    library: proposal.library ?? '',
    token_endpoint_auth_method: proposal.token_endpoint_auth_method ?? '',
    backchannel_logout_uri: proposal.backchannel_logout_uri ?? '',
    homepage_url: proposal.homepage_url ?? '',
    policy_uri: proposal.policy_uri ?? '',
    tos_uri: proposal.tos_uri ?? '',
    logo_url: proposal.logo_url ?? '',
  };
}

const wordsOf = (text: string): string[] => text.split(' ').filter(Boolean);

const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of a registration. Without an application type, which a browser always sends, the default applies. */
export const bodyOf = (formValues: FormValues) => ({
  ...formValues,
  application_type: formValues.application_type || undefined,
  redirect_uris: linesOf(formValues.redirect_uris),
  post_logout_redirect_uris: linesOf(formValues.post_logout_redirect_uris),
  default_acr_values: wordsOf(formValues.default_acr_values),
  library: formValues.library || null,
  token_endpoint_auth_method: formValues.token_endpoint_auth_method || null,
  backchannel_logout_uri: formValues.backchannel_logout_uri || null,
  homepage_url: formValues.homepage_url || null,
  policy_uri: formValues.policy_uri || null,
  tos_uri: formValues.tos_uri || null,
  logo_url: formValues.logo_url || null,
});
