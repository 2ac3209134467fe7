import {
  type Attribute,
  defaultLength,
  editors,
  isAttributeScope,
  labelOf,
  longestLabel,
  longestName,
  longestScope,
  longestValue,
  sharedScopes,
  signUps,
  valueTypes,
} from '../../attributes/attribute.ts';
import { nameOfLanguage } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, doneNotice, inEachLanguage, type Shown, step } from '../components.ts';
import { labelMember } from './operations.ts';

const path = '/admin/attributes';
const tab = adminTab('admin_attributes');

export const attributesPage = (view: View, attributes: readonly Attribute[], shown: Shown): Page => ({
  title: view.plain('admin.attributes.title'),
  tab,
  content: html`<h1>${view.t('admin.attributes.title')}</h1>
<p class="soft">${view.t('admin.attributes.intro')}</p>
${doneNotice(view, shown, 'attributes', ['deleted'])}
${itemsOr(
  attributes.map((attribute) => attributeItem(view, attribute)),
  view.t('admin.attributes.none'),
)}
${view.may('attributes:write') && definition(view, attributes, shown)}`,
});

const attributeItem = (view: View, attribute: Attribute): Html => html`<li><div>
<h2><a href="${path}/${attribute.attribute_id}">${untrusted(labelOf(attribute, view.locale))}</a></h2>
<p><code>${attribute.name}</code></p>
<p class="state">${view.t('admin.attributes.state', {
  type: view.plain(`admin.attributes.type.${attribute.value_type}`),
  scope: html`<code>${attribute.scope}</code>`,
  who: view.plain(`admin.attributes.editable_by.${attribute.editable_by}`),
})}</p>
</div></li>
`;

const definition = (
  view: View,
  attributes: readonly Attribute[],
  shown: Shown,
): Html => html`<h2 id="define">${view.t('admin.attributes.define')}</h2>
${shown.problem}
<form method="post" action="${path}">
<label for="name">${view.t('admin.attributes.name')}</label>
<input id="name" name="name" required maxlength="${longestName}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="name-hint" value="${shown.form?.name ?? ''}">
<p class="hint" id="name-hint">${view.t('admin.attributes.name.hint')}</p>
<label for="type">${view.t('admin.attributes.type')}</label>
<select id="type" name="type" aria-describedby="type-hint">${valueTypes.map((type) => option(type, view.t(`admin.attributes.type.${type}`), shown.form?.type))}</select>
<p class="hint" id="type-hint">${view.t('admin.attributes.type.hint')}</p>
${statedFields(view, shown.form ?? { scope: 'profile', editable_by: 'administrator', is_shown: 'on' }, attributes)}
<button type="submit" id="attribute-define">${view.t('admin.attributes.define.submit')}</button>
</form>`;

const option = (value: string, text: Html, chosen: string | undefined): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;

/** @param values as a form has them. @param attributes whose scopes are suggested. */
function statedFields(
  view: View,
  values: Readonly<Record<string, string | undefined>>,
  attributes: readonly Attribute[],
): Html {
  const own = attributes.map(({ scope }) => scope).filter(isAttributeScope);
  const number = (rule: 'max_length' | 'minimum' | 'maximum', placeholder = '') =>
    html`<label for="${rule}">${view.t(`admin.attributes.${rule}`)}</label>
<input id="${rule}" name="${rule}" maxlength="20" autocomplete="off" placeholder="${placeholder}" value="${values[rule] ?? ''}">
`;
  const labels = inEachLanguage(view, (locale) => {
    const member = labelMember(locale);
    return html`<label for="${member}">${view.t('admin.attributes.label', { language: nameOfLanguage(locale) })}</label>
<input id="${member}" name="${member}" lang="${locale}" maxlength="${longestLabel}" autocomplete="off" value="${values[member] ?? ''}">
`;
  });
  return html`${labels}<details${['max_length', 'choices', 'minimum', 'maximum'].some((rule) => values[rule]) && html` open`}><summary>${view.t('admin.attributes.rules')}</summary>
<p class="hint">${view.t('admin.attributes.rules.hint')}</p>
${number('max_length', `${defaultLength} (≤ ${longestValue})`)}<label for="choices">${view.t('admin.attributes.choices')}</label>
<textarea id="choices" name="choices" rows="4" aria-describedby="choices-hint">
${values.choices ?? ''}</textarea>
<p class="hint" id="choices-hint">${view.t('admin.attributes.choices.hint')}</p>
${number('minimum')}${number('maximum')}</details>
<label for="scope">${view.t('admin.attributes.scope')}</label>
<input id="scope" name="scope" list="scopes" required maxlength="${longestScope}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="scope-hint" value="${values.scope ?? ''}">
<datalist id="scopes">${[...new Set([...sharedScopes, ...own])].map((scope) => html`<option value="${scope}"></option>`)}</datalist>
<p class="hint" id="scope-hint">${view.t('admin.attributes.scope.hint')}</p>
<label for="editable_by">${view.t('admin.attributes.editable_by')}</label>
<select id="editable_by" name="editable_by">${editors.map((editor) => option(editor, view.t(`admin.attributes.editable_by.${editor}`), values.editable_by))}</select>
<label><input type="checkbox" name="is_shown" value="on"${values.is_shown === 'on' && html` checked`}> ${view.t('admin.attributes.is_shown')}</label>
<label for="sign_up">${view.t('admin.attributes.sign_up')}</label>
<select id="sign_up" name="sign_up">${signUps.map((signUp) => option(signUp, view.t(`admin.attributes.sign_up.${signUp}`), values.sign_up))}</select>`;
}

const valuesOf = ({ labels, rules, scope, editable_by, is_shown, sign_up }: Attribute) => ({
  ...Object.fromEntries(Object.entries(labels).map(([locale, text]) => [labelMember(locale), text])),
  max_length: textOf(rules.max_length),
  minimum: textOf(rules.minimum),
  maximum: textOf(rules.maximum),
  choices: rules.choices?.join('\n') ?? '',
  scope,
  editable_by,
  is_shown: is_shown ? 'on' : undefined,
  sign_up,
});

const textOf = (number: number | null): string => (number === null ? '' : `${number}`);

export const attributePage = (view: View, attribute: Attribute, shown: Shown): Page => ({
  title: visibleText(labelOf(attribute, view.locale)),
  tab,
  content: html`<h1>${untrusted(labelOf(attribute, view.locale))}</h1>
${shown.problem}${doneNotice(view, shown, 'attributes', ['defined', 'saved', 'unchanged'])}
<dl>
<dt>${view.t('admin.id')}</dt><dd><code>${attribute.attribute_id}</code></dd>
<dt>${view.t('admin.attributes.name')}</dt><dd><code>${attribute.name}</code></dd>
<dt>${view.t('admin.attributes.type')}</dt><dd>${view.t(`admin.attributes.type.${attribute.value_type}`)}</dd>
<dt>${view.t('admin.attributes.scope')}</dt><dd><code>${attribute.scope}</code></dd>
<dt>${view.t('admin.attributes.editable_by')}</dt><dd>${view.t(`admin.attributes.editable_by.${attribute.editable_by}`)}</dd>
<dt>${view.t('admin.attributes.is_shown')}</dt><dd>${view.t(attribute.is_shown ? 'value.yes' : 'value.no')}</dd>
<dt>${view.t('admin.attributes.sign_up')}</dt><dd>${view.t(`admin.attributes.sign_up.${attribute.sign_up}`)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(attribute.created_at)}</dd>
</dl>
${view.may('attributes:write') && changes(view, attribute, shown)}
${view.may('audit:read') && html`<p><a href="/admin/audit?who=${attribute.attribute_id}">${view.t('admin.history')}</a></p>`}`,
});

const changes = (
  view: View,
  attribute: Attribute,
  { form, problem }: Shown,
): Html => html`<details${problem && html` open`}><summary>${view.t('admin.attributes.edit')}</summary>
<form method="post" action="${path}/${attribute.attribute_id}/edit">
${statedFields(view, form?.scope === undefined ? valuesOf(attribute) : form, [attribute])}
<button type="submit" id="attribute-save">${view.t('admin.attributes.edit.submit')}</button>
</form></details>
${step(view, 'admin.attributes.delete', { path: `${path}/${attribute.attribute_id}/delete`, id: 'attribute-delete', style: 'danger' })}`;
