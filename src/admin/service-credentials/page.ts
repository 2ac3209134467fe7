import { delegablePermissions } from '../../accounts/permissions.ts';
import type { Api } from '../../apis/api.ts';
import { overlaps } from '../../entitlements/service-credentials/manage-credential.ts';
import {
  isAdministrative,
  lastUseOf,
  type Permission,
  permissions,
  type ServiceCredential,
  type ServiceSecret,
} from '../../entitlements/service-credentials/service-credential.ts';
import { copyScripts } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge, itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, choices, doneNotice, type Shown, secretOnce, step } from '../components.ts';

const path = '/admin/service-credentials';
const tab = adminTab('admin_services');

type ShownCredential = ServiceCredential & { isExpired: boolean };

export const credentialsPage = (
  view: View,
  credentials: readonly ShownCredential[],
  apis: readonly Api[],
  shown: Shown,
): Page => ({
  title: view.plain('admin.services.title'),
  tab,
  content: html`<h1>${view.t('admin.services.title')}</h1>
<p class="soft">${view.t('admin.services.intro')}</p>
${doneNotice(view, shown, 'services', ['retired'])}
${itemsOr(
  credentials.map((one) => credentialItem(view, one)),
  view.t('admin.services.none'),
)}
${view.may('service-credentials:write') && creation(view, apis, shown)}`,
});

const creation = (
  view: View,
  apis: readonly Api[],
  shown: Shown,
): Html => html`<h2 id="create">${view.t('admin.services.create')}</h2>
${shown.problem}
<form method="post" action="${path}">
<label for="name">${view.t('admin.services.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${shown.form?.name ?? ''}">
${termsFields(view, {
  permissions: permissions.filter((name) => shown.form?.[`permission:${name}`] === 'on'),
  products: typedLines(shown.form?.products),
  addresses: typedLines(shown.form?.addresses),
})}
${expirySelect(view, shown.form?.expires_in_days)}
${apis.length > 0 && apiSelect(view, apis, shown.form?.api ?? shown.query?.api)}
<button type="submit" id="service-create">${view.t('admin.services.create.submit')}</button>
</form>`;

/** Of a credential by which an API introspects its own tokens. */
const apiSelect = (view: View, apis: readonly Api[], chosen: string | undefined): Html =>
  html`<label for="api">${view.t('admin.services.api')}</label>
<select id="api" name="api" aria-describedby="api-hint"><option value="">${view.t('admin.none')}</option>${apis.map(
    ({ api_id, name }) =>
      html`<option value="${api_id}"${api_id === chosen && html` selected`}>${visibleText(name)}</option>`,
  )}</select>
<p class="hint" id="api-hint">${view.t('admin.services.api.hint')}</p>`;

const credentialItem = (view: View, one: ShownCredential) => html`<li><div>
<h2><a href="${path}/${one.credential_id}">${untrusted(one.name)}</a> ${endBadge(view, one)}</h2>
<p>${one.permissions.join(', ')}${one.products.length > 0 && html`: ${productList(one.products)}`}</p>
<p class="state">${lastUse(view, lastUseOf(one))}</p>
</div></li>
`;

const endBadge = (view: View, one: ShownCredential): Html | false => {
  if (one.retired_at !== null) return badge(view.t('admin.services.retired'), 'off');
  return one.isExpired && badge(view.t('admin.services.expired'), 'off');
};

const lastUse = (view: View, at: number | null): Html =>
  at === null ? view.t('secret.unused') : view.t('secret.used', { when: view.ago(at) });

const secretList = (view: View, secrets: readonly ServiceSecret[]): Html =>
  html`<ul class="items">${secrets.map(
    ({ created_at, expires_at, last_four, last_used_at }) => html`<li><div>
<h3>${last_four === null ? view.t('developer.client_secret') : html`<code>ss_…${last_four}</code>`}${expires_at !== null && html` ${badge(view.t('developer.secrets.ending'), 'warn')}`}</h3>
<p>${view.t('developer.secrets.created', { when: view.ago(created_at) })} · ${lastUse(view, last_used_at)}${expires_at !== null && html` · ${view.t('developer.secrets.ends', { when: view.until(expires_at) })}`}</p>
</div></li>
`,
  )}</ul>`;

/** Each on its own, since a name may have commas in it. */
const productList = (products: readonly string[]): Html =>
  html`${products.map((one, place) => html`${place > 0 && ', '}<code>${untrusted(one)}</code>`)}`;

/** One on each line, without the spaces around it. */
export const typedLines = (text = ''): string[] =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(Boolean);

type Terms = Pick<ServiceCredential, 'permissions' | 'products' | 'addresses'>;

const permissionChoices = (view: View, legend: Html, names: readonly Permission[], terms: Terms): Html =>
  choices(
    legend,
    'permission:',
    names.map((name) => ({
      name,
      label: html`${view.t(`admin.services.permission.${name}`)} <code>${name}</code>`,
      isChosen: terms.permissions.includes(name),
    })),
  );

const termsFields = (view: View, terms: Terms): Html => html`${permissionChoices(
  view,
  view.t('admin.services.permissions'),
  permissions.filter((name) => !isAdministrative([name])),
  terms,
)}
<label for="products">${view.t('admin.services.products')}</label>
<textarea id="products" name="products" rows="3" autocomplete="off" spellcheck="false" aria-describedby="products-hint">${terms.products.join('\n')}</textarea>
<p class="hint" id="products-hint">${view.t('admin.services.products.hint')}</p>
${permissionChoices(view, view.t('admin.services.administration'), delegablePermissions, terms)}
<label for="addresses">${view.t('admin.services.addresses')}</label>
<textarea id="addresses" name="addresses" rows="2" autocomplete="off" spellcheck="false" aria-describedby="addresses-hint">${terms.addresses.join('\n')}</textarea>
<p class="hint" id="addresses-hint">${view.t('admin.services.addresses.hint')}</p>`;

const expiry = (view: View, { expires_at, isExpired }: ShownCredential): Html => {
  if (expires_at === null) return view.t('admin.services.expires.never');
  return isExpired ? view.ago(expires_at) : view.until(expires_at);
};

/** Of the form, in days; no number of days: it never ends. */
const offeredDays = [7, 30, 90, 180, 365] as const;

/** @param before when it ends, which is offered to stay. */
function expirySelect(view: View, typed: string | undefined, before?: ShownCredential): Html {
  const option = (value: string, text: Html) =>
    html`<option value="${value}"${value === typed && html` selected`}>${text}</option>`;
  const end = before && expiry(view, before);
  return html`<label for="expires_in_days">${view.t('admin.services.expires')}</label>
<select id="expires_in_days" name="expires_in_days" aria-describedby="expires-hint">${
    end && option('keep', view.t('admin.services.expires.keep', { when: end }))
  }${option('never', view.t('admin.services.expires.never'))}${offeredDays.map((days) =>
    option(`${days}`, view.t('admin.services.expires.days', { days })),
  )}</select>
<p class="hint" id="expires-hint">${view.t('admin.services.expires.hint')}</p>`;
}

/** What the form says of it: undefined as before, null never. */
export function typedExpiry(typed: string | undefined): number | null | undefined {
  if (typed === undefined || typed === 'keep') return undefined;
  return typed === 'never' ? null : Number(typed || Number.NaN);
}

export const credentialPage = (
  view: View,
  one: ShownCredential & { api: Api | undefined },
  active: readonly ServiceSecret[],
  shown: Shown,
): Page => ({
  title: visibleText(one.name),
  tab,
  content: html`<h1>${untrusted(one.name)} ${endBadge(view, one)}</h1>
${shown.problem}${doneNotice(view, shown, 'services', ['restricted', 'unchanged'])}
<dl>
<dt>${view.t('admin.services.client_id')}</dt><dd><code>${one.credential_id}</code></dd>
<dt>${view.t('admin.services.permissions')}</dt><dd>${one.permissions.join(', ')}</dd>
<dt>${view.t('admin.services.products')}</dt><dd>${one.products.length > 0 ? productList(one.products) : view.t('admin.none')}</dd>
${
  one.api &&
  html`<dt>${view.t('admin.services.api')}</dt><dd><a href="/admin/apis/${one.api.api_id}">${untrusted(one.api.name)}</a></dd>
`
}<dt>${view.t('admin.services.addresses')}</dt><dd>${one.addresses.length > 0 ? html`<code>${one.addresses.join(', ')}</code>` : view.t('admin.services.addresses.any')}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
<dt>${view.t('admin.services.expires')}</dt><dd>${expiry(view, one)}</dd>
${one.retired_at !== null && html`<dt>${view.t('admin.services.retired')}</dt><dd>${view.ago(one.retired_at)}</dd>`}
</dl>
${
  one.retired_at === null &&
  html`<h2>${view.t('developer.secrets')}</h2>
${secretList(view, active)}
${view.may('service-credentials:write') && changes(view, one)}`
}
<p><a href="/admin/audit?who=${one.credential_id}">${view.t('admin.history')}</a></p>`,
});

const changes = (view: View, one: ShownCredential) => html`<h2>${view.t('admin.services.restrict')}</h2>
<form method="post" action="${path}/${one.credential_id}/restrict">
${termsFields(view, one)}
${expirySelect(view, undefined, one)}
<button type="submit" id="service-restrict">${view.t('admin.services.restrict.submit')}</button>
</form>
<h2>${view.t('admin.services.rotate')}</h2>
<p class="soft">${view.t('admin.services.rotate.what')}</p>
<form method="post" action="${path}/${one.credential_id}/rotate">
<label for="overlap_seconds">${view.t('admin.services.rotate.before')}</label>
<select id="overlap_seconds" name="overlap_seconds">${(Object.keys(overlaps) as (keyof typeof overlaps)[]).map(
  (name) =>
    html`<option value="${overlaps[name]}"${name === 'day' && html` selected`}>${view.t(`overlap.${name}`)}</option>`,
)}</select>
<button type="submit" class="quiet" id="service-rotate">${view.t('admin.services.rotate.submit')}</button>
</form>
${step(view, 'admin.services.retire', { path: `${path}/${one.credential_id}/retire`, id: 'service-retire', style: 'danger' })}`;

/** @param until when the secret before stops working, in Unix seconds; left out for a first secret. */
export const credentialSecretPage = (
  view: View,
  { client_id, client_secret, until }: { client_id: string; client_secret: string; until?: number },
): Page => ({
  title: view.plain('admin.services.secret.title'),
  tab,
  scripts: copyScripts,
  content: html`<h1>${view.t('admin.services.secret.title')}</h1>
${secretOnce(view, [
  { label: view.t('admin.services.client_id'), value: client_id },
  { label: view.t('admin.services.client_secret'), value: client_secret },
])}
${until !== undefined && html`<p>${view.t('admin.services.secret.before', { until: view.until(until) })}</p>`}
<p><a class="button" href="${path}/${client_id}">${view.t('admin.go_on')}</a></p>`,
});
