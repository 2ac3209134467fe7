import { algorithms, type Client, clientTypes } from '../../clients/client.ts';
import { defaultScope, scopeNames } from '../../clients/scopes.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { alert } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { developerTab } from '../developer-tabs.ts';

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
const typeField = (
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

/** The form as somebody has filled it in, right or wrong: it comes back as it was. */
export type FormValues = {
  name: string;
  client_type: string;
  /** One a line. */
  redirect_uris: string;
  allowed_scopes: readonly string[];
  homepage_url: string;
  logo_url: string;
  id_token_signed_response_alg: string;
};

export const emptyForm: FormValues = {
  name: '',
  client_type: '',
  redirect_uris: '',
  allowed_scopes: defaultScope,
  homepage_url: '',
  logo_url: '',
  id_token_signed_response_alg: 'EdDSA',
};

/** As its owner would have it: with the change that waits. */
export function formValuesOf(client: Client): FormValues {
  const wanted = { ...client, ...client.pending_change };
  return {
    name: wanted.name,
    client_type: wanted.client_type,
    redirect_uris: wanted.redirect_uris.join('\n'),
    allowed_scopes: wanted.allowed_scopes,
    homepage_url: wanted.homepage_url ?? '',
    logo_url: wanted.logo_url ?? '',
    id_token_signed_response_alg: wanted.id_token_signed_response_alg,
  };
}

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

const linesOf = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** As the JSON of an edit; a registration has its `client_type` besides. */
export const editBodyOf = (formValues: FormValues) => ({
  name: formValues.name,
  redirect_uris: linesOf(formValues.redirect_uris),
  allowed_scopes: [...formValues.allowed_scopes],
  homepage_url: formValues.homepage_url || null,
  logo_url: formValues.logo_url || null,
  id_token_signed_response_alg: formValues.id_token_signed_response_alg,
});

export type RegistrationForm = {
  formValues: FormValues;
  problems?: readonly FieldProblem[];
  /** What stands against registering anything right now. */
  refusal?: Renderable;
};

export function registrationPage(view: View, { formValues, problems = [], refusal }: RegistrationForm): Page {
  const context = { view, formValues, problems };
  return {
    title: view.plain('developer.register.title'),
    tab: developerTab('developer_register'),
    scripts: ['developer'],
    content: html`<h1>${view.t('developer.register.title')}</h1>
<p class="soft">${view.t('developer.register.intro')}</p>
${alert(refusal)}${formAlert(view, problems)}
<form method="post" action="/developer/register" id="client-form" data-check="/v1/oauth/clients/check">
${nameField(context)}
${typeField(context)}
${redirectField(context)}
${scopeFields(context)}
${algorithmField(context)}
${addressField(context, 'homepage_url')}
${addressField(context, 'logo_url')}
<button type="submit" id="register-submit">${view.t('developer.register.submit')}</button>
</form>`,
  };
}
