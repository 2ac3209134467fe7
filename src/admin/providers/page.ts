import { longestLabel, maxLogoKb, maxLogoSide } from '../../authentication/credentials/providers.ts';
import type { ListedProvider, ProviderUse } from '../../authentication/federation/list-providers.ts';
import { longestClientId, longestIssuer, longestSecret } from '../../authentication/federation/provider-rules.ts';
import type { Receipt } from '../../authentication/upstream-events/receipts.ts';
import { alert, copyButton, copyScripts, describedField, problemAt } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, buttonForm, doneNotice, type Shown } from '../components.ts';
import { receipts, signalsPart } from './signals-part.ts';

const path = '/admin/providers';
const tab = adminTab('admin_providers');
const pathOf = ({ id }: Pick<ListedProvider, 'id'>) => `${path}/${id}`;

/** `example`: the redirect URI of one called acme. */
type Shape = { providers: readonly ListedProvider[]; example: string };

export const providersPage = (view: View, { providers, example }: Shape, shown: Shown): Page => ({
  title: view.plain('admin.providers.title'),
  tab,
  content: html`<h1>${view.t('admin.providers.title')}</h1>
<p class="soft">${view.t('admin.providers.intro')}</p>
${doneNotice(view, shown, 'providers', ['deleted'])}
${itemsOr(
  providers.map((one) => providerItem(view, one)),
  view.t('admin.providers.none'),
)}
${view.may('providers:write') && addition(view, example, shown)}`,
});

const states = (view: View, { source, disabled_at, is_hidden }: ListedProvider): Html =>
  html`${source === 'settings' && badge(view.t('admin.providers.from_settings'))}${disabled_at !== null && badge(view.t('admin.providers.off'), 'off')}${is_hidden && badge(view.t('admin.providers.hidden'), 'warn')}`;

const providerItem = (view: View, one: ListedProvider): Html => html`<li><div>
<h2><a href="${pathOf(one)}">${untrusted(one.label)}</a> ${states(view, one)}</h2>
<p>${untrustedUrl(one.issuer)}</p>
</div></li>
`;

type Values = { label: string; client_id: string; groups_claim: string; scope: string };

const addition = (view: View, example: string, shown: Shown): Html => {
  const { form, refusal: { problems } = { problems: [] } } = shown;
  const typed = (name: string) => form?.[name] ?? '';
  const values = {
    ...{ label: typed('label'), client_id: typed('client_id') },
    ...{ groups_claim: typed('groups_claim'), scope: typed('scope') },
  };
  return html`<h2 id="add">${view.t('admin.providers.add')}</h2>
<p class="soft">${view.t('admin.providers.add.what')}</p>
${problems.length > 0 ? alert(view.t('developer.form.problem')) : shown.problem}
<form method="post" action="${path}">
<label for="id">${view.t('admin.providers.id')}</label>
<input id="id" name="id" required maxlength="20" autocomplete="off" autocapitalize="none" spellcheck="false" value="${typed('id')}"${describedField(problems, 'id', true)}>
<p class="hint" id="id-hint">${view.t('admin.providers.id.hint', { callback: html`<code>${example}</code>` })}</p>${problemAt(view, problems, 'id')}
<label for="issuer">${view.t('admin.providers.issuer')}</label>
<input id="issuer" name="issuer" type="url" maxlength="${longestIssuer}" autocomplete="off" value="${typed('issuer')}"${describedField(problems, 'issuer', true)}>
<p class="hint" id="issuer-hint">${view.t('admin.providers.issuer.hint')}</p>${problemAt(view, problems, 'issuer')}
${termFields(view, problems, values, 'add')}
<button type="submit" id="provider-add">${view.t('admin.providers.add.submit')}</button>
</form>`;
};

export type Problems = NonNullable<Shown['refusal']>['problems'];

function termFields(view: View, problems: Problems, values: Values, of: 'add' | 'edit'): Html {
  const field = (name: keyof Values, max: number, isRequired: boolean) =>
    html`<label for="${name}">${view.t(`admin.providers.${name}`)}</label>
<input id="${name}" name="${name}" maxlength="${max}"${isRequired && html` required`} autocomplete="off" spellcheck="false" value="${values[name]}"${describedField(problems, name, true)}>
<p class="hint" id="${name}-hint">${view.t(`admin.providers.${name}.hint`)}</p>${problemAt(view, problems, name)}
`;
  return html`${field('label', longestLabel, of === 'edit')}${field('client_id', longestClientId, true)}<label for="client_secret">${view.t('admin.providers.client_secret')}</label>
<input id="client_secret" name="client_secret" type="password" maxlength="${longestSecret}"${of === 'add' && html` required`} autocomplete="off"${describedField(problems, 'client_secret', true)}>
<p class="hint" id="client_secret-hint">${view.t(of === 'add' ? 'admin.providers.client_secret.hint' : 'admin.providers.client_secret.keep')}</p>${problemAt(view, problems, 'client_secret')}
${field('groups_claim', 200, false)}${field('scope', 500, false)}`;
}

export const providerPage = (
  view: View,
  one: ListedProvider & { people: ProviderUse; received: readonly Receipt[] },
  shown: Shown,
  outcome?: Html | false,
): Page => {
  const { form, refusal: { problems } = { problems: [] } } = shown;
  const isChangeable = one.source === 'store' && view.may('providers:write');
  return {
    title: visibleText(one.label),
    tab,
    scripts: copyScripts,
    content: html`<h1>${untrusted(one.label)} ${states(view, one)}</h1>
${outcome}${problems.length === 0 && shown.problem}${doneNotice(view, shown, 'providers', [
  'created',
  'saved',
  'enabled',
  'disabled',
  'unchanged',
  'logo',
  'logo_removed',
])}
${one.source === 'settings' && html`<p class="soft">${view.t('admin.providers.from_settings.what')}</p>`}${one.is_hidden && html`<p class="advice">${view.t('admin.providers.hidden.what')}</p>`}
<dl>
<dt>${view.t('admin.id')}</dt><dd><code>${one.id}</code></dd>
<dt>${view.t('admin.providers.issuer')}</dt><dd>${untrustedUrl(one.issuer)}</dd>
<dt>${view.t('admin.providers.client_id')}</dt><dd><code>${untrusted(one.client_id, longestClientId)}</code></dd>
<dt>${view.t('admin.settings.provider.redirect_uri')}</dt><dd><code id="redirect-uri">${one.redirect_uri}</code> ${copyButton(view, 'redirect-uri')}</dd>
<dt>${view.t('admin.providers.backchannel_logout_uri')}</dt><dd><code id="backchannel-logout-uri">${one.backchannel_logout_uri}</code> ${copyButton(view, 'backchannel-logout-uri')}</dd>
<dt>${view.t('admin.providers.groups_claim')}</dt><dd>${one.groups_claim === null ? view.t('admin.none') : html`<code>${one.groups_claim}</code>`}</dd>
<dt>${view.t('admin.providers.scope')}</dt><dd>${one.scope === null ? view.t('admin.none') : html`<code>${one.scope}</code>`}</dd>
<dt>${view.t('admin.providers.people')}</dt><dd>${people(view, one.people)}</dd>
${one.created_at !== null && html`<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>`}
</dl>
<div class="actions">
${buttonForm(view.t('admin.settings.provider.check'), { path: `${pathOf(one)}/check`, id: 'provider-check', style: 'quiet' })}
${
  isChangeable &&
  (one.disabled_at === null
    ? buttonForm(view.t('admin.providers.disable'), {
        path: `${pathOf(one)}/disable`,
        id: 'provider-disable',
        style: 'quiet',
      })
    : buttonForm(view.t('admin.providers.enable'), { path: `${pathOf(one)}/enable`, id: 'provider-enable' }))
}
</div>
${isChangeable && logoForm(view, one, problems)}${
  isChangeable &&
  changes(
    view,
    one,
    problems.filter(({ path }) => path !== 'content'),
    form,
  )
}
${signalsPart(view, one, isChangeable, problems)}
${receipts(view, one.received)}
${view.may('audit:read') && html`<p><a href="/admin/audit?who=${encodeURIComponent(`provider:${one.id}`)}">${view.t('admin.history')}</a></p>`}`,
  };
};

/** A picture on what is behind it on the button, in the dark as well. */
const logoForm = (
  view: View,
  one: ListedProvider,
  problems: Problems,
): Html => html`<h2 id="logo">${view.t('admin.providers.logo')}</h2>
<p class="soft">${view.t('admin.providers.logo.what')}</p>
${
  one.logo_url !== null &&
  html`<p><img class="app-logo small" src="${new URL(one.logo_url).pathname}" alt="${view.plain('admin.providers.logo')}" width="32" height="32"></p>
${buttonForm(view.t('admin.brand.picture.remove'), { path: `${pathOf(one)}/logo/remove`, id: 'logo-remove', style: 'quiet' })}`
}
<form method="post" action="${pathOf(one)}/logo" enctype="multipart/form-data">
<label for="content">${view.t('admin.brand.picture.file')}</label>
<input id="content" name="content" type="file" required accept="image/png,image/jpeg,image/webp"${describedField(problems, 'content', true)}>
<p class="hint" id="content-hint">${view.t('admin.providers.logo.hint', { kb: maxLogoKb, side: maxLogoSide })}</p>
${problemAt(view, problems, 'content')}<button type="submit" class="quiet" id="logo-upload">${view.t('account.upload.submit')}</button>
</form>`;

const people = (view: View, { linked, alone, is_complete }: ProviderUse): Html =>
  view.t(is_complete ? 'admin.providers.people.counted' : 'admin.providers.people.many', { linked, alone });

function changes(
  view: View,
  one: ListedProvider & { people: ProviderUse },
  problems: Problems,
  form: Shown['form'],
): Html {
  const values = {
    ...{ label: form?.label ?? one.label, client_id: form?.client_id ?? one.client_id },
    ...{ groups_claim: form?.groups_claim ?? one.groups_claim ?? '', scope: form?.scope ?? one.scope ?? '' },
  };
  return html`<details${problems.length > 0 && html` open`}><summary>${view.t('admin.providers.edit')}</summary>
${problems.length > 0 && alert(view.t('developer.form.problem'))}
<form method="post" action="${pathOf(one)}/edit">
${termFields(view, problems, values, 'edit')}
<button type="submit" id="provider-save">${view.t('admin.providers.edit.submit')}</button>
</form></details>
<details><summary>${view.t('admin.providers.delete')}</summary>
<p class="soft">${people(view, one.people)} ${view.t('admin.providers.delete.what')}</p>
${buttonForm(view.t('admin.providers.delete.submit'), { path: `${pathOf(one)}/delete`, id: 'provider-delete', style: 'danger' })}
</details>`;
}
