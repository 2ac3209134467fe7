import type { Api, ApiScope } from '../../apis/api.ts';
import { longestDescription, longestIdentifier, longestScope, longestSentence } from '../../apis/api-rules.ts';
import { nameOfLanguage } from '../../platform/i18n/translate.ts';
import { copyButton, copyScripts, hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, doneNotice, inEachLanguage, type Shown, step } from '../components.ts';
import { sentenceMember } from './operations.ts';

const path = '/admin/apis';
const tab = adminTab('admin_apis');

export const apisPage = (view: View, apis: readonly Api[], shown: Shown): Page => ({
  title: view.plain('admin.apis.title'),
  tab,
  content: html`<h1>${view.t('admin.apis.title')}</h1>
<p class="soft">${view.t('admin.apis.intro')}</p>
${doneNotice(view, shown, 'apis', ['retired'])}
${itemsOr(
  apis.map((api) => apiItem(view, api)),
  view.t('admin.apis.none'),
)}
${view.may('apis:write') && registration(view, shown)}`,
});

const registration = (view: View, shown: Shown): Html => html`<h2 id="register">${view.t('admin.apis.register')}</h2>
${shown.problem}
<form method="post" action="${path}">
<label for="identifier">${view.t('admin.apis.identifier')}</label>
<input id="identifier" name="identifier" type="url" required maxlength="${longestIdentifier}" autocomplete="off" aria-describedby="identifier-hint" value="${shown.form?.identifier ?? ''}">
<p class="hint" id="identifier-hint">${view.t('admin.apis.identifier.hint')}</p>
${nameFields(view, { name: shown.form?.name ?? '', description: shown.form?.description ?? null, token_status: shown.form?.token_status === 'list' ? 'list' : 'none' })}
${scopeFields(view, 'first', shown.form)}
<button type="submit" id="api-register">${view.t('admin.apis.register.submit')}</button>
</form>`;

const apiItem = (view: View, api: Api) => html`<li><div>
<h2><a href="${path}/${api.api_id}">${untrusted(api.name)}</a></h2>
<p><code>${untrusted(api.identifier)}</code></p>
<p class="state">${view.t('admin.apis.scopes_of', { count: api.scopes.length })}</p>
</div></li>
`;

const nameFields = (
  view: View,
  { name, description, token_status }: Pick<Api, 'name' | 'description' | 'token_status'>,
): Html =>
  html`<label for="name">${view.t('admin.apis.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${name}">
<label for="description">${view.t('admin.apis.description')}</label>
<textarea id="description" name="description" rows="2" maxlength="${longestDescription}">
${description ?? ''}</textarea>
<label><input type="checkbox" name="token_status" value="list" aria-describedby="token-status-hint"${token_status === 'list' && html` checked`}> ${view.t('admin.apis.token_status')}</label>
<p class="hint" id="token-status-hint">${view.t('admin.apis.token_status.hint')}</p>`;

/** @param of what distinguishes its fields on the page. */
const scopeFields = (view: View, of: string, form: Shown['form']): Html =>
  html`<label for="${of}-scope">${view.t('admin.apis.scope')}</label>
<input id="${of}-scope" name="scope" required maxlength="${longestScope}" autocomplete="off" spellcheck="false" aria-describedby="${of}-scope-hint" value="${form?.scope ?? ''}">
<p class="hint" id="${of}-scope-hint">${view.t('admin.apis.scope.hint')}</p>
${sentenceFields(view, of, (locale) => form?.[sentenceMember(locale)] ?? '')}`;

const sentenceFields = (view: View, of: string, textIn: (locale: string) => string): Html =>
  inEachLanguage(view, (locale) => {
    const member = sentenceMember(locale);
    return html`<label for="${of}-${member}">${view.t('admin.apis.sentence', { language: nameOfLanguage(locale) })}</label>
<input id="${of}-${member}" name="${member}" lang="${locale}" maxlength="${longestSentence}" autocomplete="off" value="${textIn(locale)}">
`;
  });

export const apiPage = (view: View, api: Api, shown: Shown): Page => ({
  title: visibleText(api.name),
  tab,
  scripts: copyScripts,
  content: html`<h1>${untrusted(api.name)}</h1>
${api.description !== null && html`<p class="soft">${untrusted(api.description, 500)}</p>`}
${shown.problem}${doneNotice(view, shown, 'apis', ['registered', 'saved', 'scope_set', 'scope_retired', 'unchanged'])}
<dl>
<dt>${view.t('admin.apis.identifier')}</dt><dd><code id="api-identifier">${untrusted(api.identifier)}</code> ${copyButton(view, 'api-identifier')}</dd>
<dt>${view.t('admin.apis.id')}</dt><dd><code>${api.api_id}</code></dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(api.created_at)}</dd>
</dl>
<h2>${view.t('admin.apis.scopes')}</h2>
<ul class="items">${api.scopes.map((scope) => scopeItem(view, api, scope))}</ul>
${view.may('apis:write') && changes(view, api, shown)}
${
  view.may('service-credentials:write') &&
  html`<h2>${view.t('admin.apis.next')}</h2>
<p class="soft">${view.t('admin.apis.next.what', { services: html`<a href="/admin/service-credentials?api=${api.api_id}#create">${view.t('admin.tab.services')}</a>` })}</p>`
}
${view.may('apis:write') && step(view, 'admin.apis.retire', { path: `${path}/${api.api_id}/retire`, id: 'api-retire', style: 'danger' })}
${view.may('audit:read') && html`<p><a href="/admin/audit?who=${api.api_id}">${view.t('admin.history')}</a></p>`}`,
});

const changes = (
  view: View,
  api: Api,
  shown: Shown,
): Html => html`<details><summary>${view.t('admin.apis.add_scope')}</summary>
<form method="post" action="${path}/${api.api_id}/scopes">
${scopeFields(view, 'new', shown.form)}
<button type="submit" id="scope-add">${view.t('admin.apis.add_scope.submit')}</button>
</form></details>
<details><summary>${view.t('admin.apis.edit')}</summary>
<form method="post" action="${path}/${api.api_id}/edit">
${nameFields(view, api)}
<button type="submit" id="api-save">${view.t('admin.apis.edit.submit')}</button>
</form></details>`;

/** The last one ends with its API. */
function scopeItem(view: View, api: Api, { name, descriptions }: ApiScope): Html {
  const id = `scope-${api.scopes.findIndex((scope) => scope.name === name)}`;
  return html`<li><div>
<h3><code>${name}</code></h3>
<p>${Object.entries(descriptions).map(([locale, text]) => html`<span lang="${locale}">${untrusted(text)}</span><br>`)}</p>
${view.may('apis:write') && scopeForms(view, api, { name, descriptions }, id)}
</div></li>
`;
}

const scopeForms = (
  view: View,
  api: Api,
  { name, descriptions }: Pick<ApiScope, 'name' | 'descriptions'>,
  id: string,
): Html => html`<details><summary>${view.t('admin.apis.sentences')}</summary>
<form method="post" action="${path}/${api.api_id}/scopes">
${hidden('scope', name)}
${sentenceFields(view, id, (locale) => descriptions[locale] ?? '')}
<button type="submit" class="quiet">${view.t('admin.apis.edit.submit')}</button>
</form></details>
${
  api.scopes.length > 1 &&
  html`<details><summary>${view.t('admin.apis.retire_scope')}</summary>
<p class="soft">${view.t('admin.apis.retire_scope.what')}</p>
<form method="post" action="${path}/${api.api_id}/retire-scope">
${hidden('scope', name)}
<button type="submit" class="danger">${view.t('admin.apis.retire_scope.submit')}</button>
</form></details>`
}`;
