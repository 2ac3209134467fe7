import { algorithms, type Client, clientTypes, proposalOf } from '../../clients/client.ts';
import { defaultScope, scopeNames } from '../../clients/scopes.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { alert, hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

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
${
  revision === undefined &&
  html`<fieldset><legend>${view.t('developer.client_type')}</legend>
${clientTypes.toReversed().map((type) => radio(context, 'client_type', type, `developer.client_type.${type}`))}${problemBox(context, 'client_type')}</fieldset>`
}
<label for="redirect_uris">${view.t('developer.redirect_uris')}</label>
<textarea id="redirect_uris" name="redirect_uris" rows="4" required spellcheck="false" autocapitalize="none"
 autocomplete="off" wrap="off"${described(context, 'redirect_uris')}>
${formValues.redirect_uris}</textarea>
${hint(view, 'redirect_uris')}${problemBox(context, 'redirect_uris')}
<fieldset><legend>${view.t('developer.scopes')}</legend>
<p class="hint">${view.t('developer.scopes.hint')}</p>
${scopeNames.map(
  (scope) => html`<label><input type="checkbox" name="${scopeField(scope)}" value="on"${
    formValues.allowed_scopes.includes(scope) && html` checked`
  }> ${view.t(`scope.${scope}`)} <code>${scope}</code></label>
`,
)}${problemBox(context, 'allowed_scopes')}</fieldset>
<fieldset><legend>${view.t('developer.algorithm')}</legend>
${algorithms.map((algorithm) =>
  radio(context, 'id_token_signed_response_alg', algorithm, `developer.algorithm.${algorithm}`),
)}${problemBox(context, 'id_token_signed_response_alg')}</fieldset>
${addressField(context, 'homepage_url')}
${addressField(context, 'logo_url')}
<button type="submit" id="${submit.id}">${view.t(submit.label)}</button>
</form>`;
}

const addressField = (
  context: FormContext,
  name: 'homepage_url' | 'logo_url',
): Html => html`<label for="${name}">${context.view.t(`developer.${name}`)}</label>
<input id="${name}" name="${name}" inputmode="url" spellcheck="false" autocapitalize="none" autocomplete="off"
 value="${context.formValues[name]}"${described(context, name)}>
${hint(context.view, name)}${problemBox(context, name)}`;

const radio = (
  { view, formValues }: FormContext,
  name: 'client_type' | 'id_token_signed_response_alg',
  value: string,
  label: `developer.client_type.${Client['client_type']}` | `developer.algorithm.${(typeof algorithms)[number]}`,
): Html => html`<label>
<input type="radio" name="${name}" value="${value}" required${formValues[name] === value && html` checked`}
 aria-describedby="${name}-${value}-hint"> ${view.t(label)}</label>
<p class="hint" id="${name}-${value}-hint">${view.t(`${label}.hint`)}</p>
`;

type Explained = 'name' | 'redirect_uris' | 'homepage_url' | 'logo_url';

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

/** Of several redirect URIs the one with the problem. */
function wrongLine(formValues: FormValues, { path }: FieldProblem): Html | false {
  const [, place] = /^redirect_uris\/(\d+)$/.exec(path) ?? [];
  const line = place === undefined ? undefined : linesOf(formValues.redirect_uris)[Number(place)];
  return line !== undefined && html`<code>${untrusted(line, 200)}</code> `;
}

type FormValues = {
  name: string;
  client_type: string;
  /** One a line. */
  redirect_uris: string;
  allowed_scopes: readonly string[];
  homepage_url: string;
  logo_url: string;
  id_token_signed_response_alg: string;
};

/** Each scope has a field of its own, because a parameter that comes twice is refused. */
const scopeField = (scope: string): string => `scope ${scope}`;

export const readFormValues = (form: Parameters): FormValues => ({
  name: form.name ?? '',
  client_type: form.client_type ?? '',
  redirect_uris: form.redirect_uris ?? '',
  allowed_scopes: scopeNames.filter((scope) => form[scopeField(scope)] !== undefined),
  homepage_url: form.homepage_url?.trim() ?? '',
  logo_url: form.logo_url?.trim() ?? '',
  id_token_signed_response_alg: form.id_token_signed_response_alg ?? '',
});

export const emptyForm: FormValues = {
  ...readFormValues({}),
  allowed_scopes: defaultScope,
  id_token_signed_response_alg: 'EdDSA',
};

export function formValuesOf(client: Client): FormValues {
  const { redirect_uris, homepage_url, logo_url, ...proposal } = proposalOf(client);
  return {
    ...proposal,
    redirect_uris: redirect_uris.join('\n'),
    homepage_url: homepage_url ?? '',
    logo_url: logo_url ?? '',
  };
}

const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of a registration. */
export const bodyOf = ({ redirect_uris, homepage_url, logo_url, ...formValues }: FormValues) => ({
  ...formValues,
  redirect_uris: linesOf(redirect_uris),
  homepage_url: homepage_url || null,
  logo_url: logo_url || null,
});
