import type { AdministrativePermission } from '../accounts/permissions.ts';
import { isMetadataUrl } from '../clients/metadata-url.ts';
import type { RequestError } from '../platform/errors.ts';
import type { Parameters } from '../platform/http/parameters.ts';
import { byName, consoleLocales, type Locale, type MessageKey } from '../platform/i18n/translate.ts';
import { mayBeUserId } from '../platform/ids.ts';
import { copyButton, notice } from '../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted } from '../platform/pages/html.ts';
import { navigation } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';

const pages: readonly (readonly [prefix: string, path: string, needs: AdministrativePermission])[] = [
  ['usr_', '/admin/users', 'users:read'],
  ['cl_', '/admin/clients', 'clients:read'],
  ['svc_', '/admin/service-credentials', 'service-credentials:read'],
  ['wh_', '/admin/webhooks', 'webhooks:read'],
  ['sst_', '/admin/signals', 'webhooks:read'],
  ['api_', '/admin/apis', 'apis:read'],
  ['grp_', '/admin/groups', 'groups:read'],
  ['atr_', '/admin/attributes', 'attributes:read'],
];

/** Of the page of a client; its forms are below it. A client_id may be a URL. */
export const clientPath = ({ client_id }: { readonly client_id: string }) =>
  `/admin/clients/${encodeURIComponent(client_id)}`;

/** Of the page of a user, if the reader may open it. @param user_id one that is in the store: no letter of it needs an escape. */
export const userPath = (view: View, user_id: string): string | undefined =>
  view.may('users:read') ? `/admin/users/${user_id}` : undefined;

/** The page about what has this id, if there is one, the id alone says of which kind it is, and the reader may open it. */
export function pageOf(view: View, id: string): string | undefined {
  if (isMetadataUrl(id)) return view.may('clients:read') ? clientPath({ client_id: id }) : undefined;
  const [, provider] = /^provider:([a-z0-9]{1,20})$/.exec(id) ?? [];
  if (provider !== undefined) return view.may('providers:read') ? `/admin/providers/${provider}` : undefined;
  const [, path, needs] = (/^[\w-]{1,64}$/.test(id) && pages.find(([prefix]) => id.startsWith(prefix))) || [];
  return path !== undefined && needs !== undefined && view.may(needs) ? `${path}/${id}` : undefined;
}

/** What people read of something, a field for each language: those of most readers, and the others behind a click. */
export function inEachLanguage(view: View, field: (locale: Locale) => Html): Html {
  const others = byName(view.languagesOfMail.filter((locale) => !consoleLocales.includes(locale)));
  return html`${consoleLocales.map(field)}${
    others.length > 0 &&
    html`<details><summary>${view.t('admin.other_languages')}</summary>
${others.map(field)}</details>
`
  }`;
}

/** Of an empty list of what they write. */
export const linkToServices = (view: View) =>
  view.may('service-credentials:read')
    ? { path: '/admin/service-credentials', label: view.t('admin.tab.services') }
    : undefined;

/** An id or an actor (`user:usr_…`), with a way to its page where there is one. */
export function entityLink(view: View, text: string): Html {
  const [, kind, id = text] = /^(user|client|service):(.+)$/.exec(text) ?? [];
  const path = kind === 'user' && mayBeUserId(id) ? userPath(view, id) : pageOf(view, id);
  return path === undefined
    ? html`<code>${untrusted(text, 200)}</code>`
    : html`<a href="${path}"><code>${text}</code></a>`;
}

/** What a page shows besides its subject: what the form before has done, or why it was refused and what was typed. */
export type Shown = {
  problem?: Html | false;
  refusal?: Pick<RequestError, 'problems'>;
  form?: Parameters;
  query?: Parameters;
};

type NameBelow<Prefix extends string, Key = MessageKey> = Key extends `${Prefix}.${infer Name}` ? Name : never;

/** What the form before has done, by the name that the query has for it; other names are ignored. */
export function doneNotice<const Area extends string>(
  view: View,
  { query: { done } = {} }: Shown,
  area: Area,
  names: readonly NameBelow<`admin.${Area}.done`>[],
) {
  const known: readonly string[] = names; // else the compiler compares `done` with the key of each text, for minutes
  const name = known.find((one) => one === done);
  return name !== undefined && notice(view.t(`admin.${area}.done.${name}` as MessageKey));
}

type SearchArea = 'users' | 'clients' | 'groups' | 'users.sessions' | 'users.grants';

/** Searches a list, at its path. @param field the id of its input; a page may have several. @param fields what stays as it is. */
export const searchForm = (
  view: View,
  area: SearchArea,
  query: string,
  { path = `/admin/${area}`, field = 'q', fields }: { path?: string; field?: string; fields?: Renderable } = {},
) => html`<form method="get" action="${path}" role="search" aria-label="${view.plain(`admin.${area}.find`)}">
${fields}<label for="${field}">${view.t(`admin.${area}.find`)}</label>
<input id="${field}" name="q" type="search" maxlength="254" autocomplete="off" value="${query}" aria-describedby="${field}-hint">
<p class="hint" id="${field}-hint">${view.t(`admin.${area}.find.hint`)}</p>
<button type="submit" class="quiet" id="${area.split('.').at(-1)}-find">${view.t('admin.users.find.submit')}</button>
</form>`;

/** What a search has found, or where it looked, and how to leave it. Nothing without a query. */
export const searchOutcome = (view: View, query: string, isEmpty: boolean, path: string): Html | false =>
  query !== '' &&
  html`<div${isEmpty && html` class="empty"`}><p>${view.t(isEmpty ? 'admin.find.none' : 'admin.find.found', {
    query: html`<q>${untrusted(query)}</q>`,
  })} <a href="${path}" id="search-clear">${view.t('admin.clients.find.clear')}</a></p></div>`;

/** The reason of an action: it stays in the log, and its subject may read it. */
export const reasonField = (
  view: View,
  id: string,
  hint: 'admin.reason.hint' | 'admin.reason.mailed' = 'admin.reason.hint',
): Html => html`<label for="${id}">${view.t('admin.reason')}</label>
<textarea id="${id}" name="reason" rows="2" required maxlength="500" aria-describedby="${id}-hint"></textarea>
<p class="hint" id="${id}-hint">${view.t(hint)}</p>`;

/** Of what takes nothing away. */
export const optionalReasonField = (
  view: View,
  id: string,
  typed = '',
  hint: MessageKey = 'admin.reason.hint',
): Html => html`<label for="${id}">${view.t('admin.reason.optional')}</label>
<textarea id="${id}" name="reason" rows="2" maxlength="500" aria-describedby="${id}-hint">${typed}</textarea>
<p class="hint" id="${id}-hint">${view.t(hint)}</p>`;

/** A group of checkboxes. Each has a name of its own, because a parameter that comes twice is refused. */
export const choices = (
  legend: Html,
  prefix: string,
  options: readonly { name: string; label: Html; isChosen: boolean }[],
): Html => html`<fieldset><legend>${legend}</legend>
${options.map(
  ({ name, label, isChosen }) =>
    html`<label><input type="checkbox" name="${prefix}${name}" value="on"${isChosen && html` checked`}> ${label}</label>\n`,
)}</fieldset>`;

export const checkedNames = <Name extends string>(form: Parameters, prefix: string, names: readonly Name[]): Name[] =>
  names.filter((name) => form[`${prefix}${name}`] === 'on');

/** Where there is no list of what may be checked: what a form has by that prefix. */
export const namesAfter = (form: Parameters, prefix: string): string[] =>
  Object.keys(form).flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));

/** A secret that is shown only once. Its page has `copyScripts`. */
export const secretOnce = (view: View, rows: readonly { label: Html; value: string }[]): Html => html`<dl>
${rows.map(
  ({ label, value }, place) =>
    html`<dt>${label}</dt><dd><code id="once-${place}">${value}</code> ${copyButton(view, `once-${place}`)}</dd>\n`,
)}</dl>
<p class="alert"><strong>${view.t('admin.secret_once')}</strong></p>`;

type Form = { path: string; id: string; style?: 'quiet' | 'danger' | 'link'; fields?: Renderable };

export const buttonForm = (text: Html, { path, id, style, fields }: Form): Html =>
  html`<form method="post" action="${path}">
${fields}<button type="submit"${style && html` class="${style}"`} id="${id}">${text}</button></form>`;

/** With `….what` and `….submit` beside it. */
type StepKey<Key = MessageKey> = Key extends `${infer Name}.what`
  ? `${Name}.submit` extends MessageKey
    ? Extract<MessageKey, Name>
    : never
  : never;

/** A form for a step that needs some thought, behind its name and with a word about what it does. */
export const step = (view: View, key: StepKey, form: Form, what: MessageKey = `${key}.what`): Html =>
  html`<details><summary>${view.t(key)}</summary>
<p class="soft">${view.t(what)}</p>
${buttonForm(view.t(`${key}.submit`), form)}
</details>`;

const explained: readonly RequestError['code'][] = [
  'invalid_request',
  'access_denied',
  'invalid_state',
  'stale_revision',
  'rate_limited',
];

/** Which refusals of a form the pages of administrators show. */
export const explains = ({ code }: RequestError): boolean => explained.includes(code);

/** The pages of administrators, in the order of their navigation. */
export const tabs = {
  admin: { path: '/admin', label: 'admin.tab.overview' },
  admin_clients: { path: '/admin/clients', label: 'admin.tab.clients', needs: 'clients:read' },
  admin_users: { path: '/admin/users', label: 'admin.tab.users', needs: 'users:read' },
  admin_groups: { path: '/admin/groups', label: 'admin.tab.groups', needs: 'groups:read' },
  admin_attributes: { path: '/admin/attributes', label: 'admin.tab.attributes', needs: 'attributes:read' },
  admin_entitlements: { path: '/admin/entitlements', label: 'admin.tab.entitlements', needs: 'entitlements:read' },
  admin_apis: { path: '/admin/apis', label: 'admin.tab.apis', needs: 'apis:read' },
  admin_services: {
    path: '/admin/service-credentials',
    label: 'admin.tab.services',
    needs: 'service-credentials:read',
  },
  admin_providers: { path: '/admin/providers', label: 'admin.tab.providers', needs: 'providers:read' },
  admin_webhooks: { path: '/admin/webhooks', label: 'admin.tab.webhooks', needs: 'webhooks:read' },
  admin_keys: { path: '/admin/keys', label: 'admin.tab.keys', needs: 'keys:read' },
  admin_audit: { path: '/admin/audit', label: 'admin.tab.audit', needs: 'audit:read' },
  admin_brand: { path: '/admin/brand', label: 'admin.tab.brand', needs: 'brand:read' },
  admin_settings: { path: '/admin/settings', label: 'admin.tab.settings', needs: 'settings:read' },
  admin_documentation: { path: '/docs', label: 'reference.documentation' },
} as const satisfies Record<string, { path: string; label: MessageKey; needs?: AdministrativePermission }>;

export const adminTab = navigation('admin.navigation', tabs, {
  wide: true,
  search: { path: '/admin/search', label: 'admin.search.field' },
});
