import type { RequestError } from '../platform/errors.ts';
import type { Parameters } from '../platform/http/parameters.ts';
import type { MessageKey } from '../platform/i18n/translate.ts';
import { copyButton, notice } from '../platform/pages/form.ts';
import { type Html, html, untrusted } from '../platform/pages/html.ts';
import { navigation } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';

/** A moment to the second, as one compares it with a log elsewhere. @param at Unix seconds. */
export function exactTime(at: number): Html {
  const iso = new Date(at * 1000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

const pageOf: readonly (readonly [prefix: string, path: string])[] = [
  ['usr_', '/admin/users'],
  ['cl_', '/admin/clients'],
  ['svc_', '/admin/service-credentials'],
  ['wh_', '/admin/webhooks'],
];

/** An id or an actor (`user:usr_…`), with a way to its page where there is one. */
export function entityLink(text: string): Html {
  const id = text.replace(/^(user|client|service):/, '');
  const path = /^[\w-]{1,64}$/.test(id) ? pageOf.find(([prefix]) => id.startsWith(prefix))?.[1] : undefined;
  return path === undefined
    ? html`<code>${untrusted(text, 200)}</code>`
    : html`<a href="${path}/${id}"><code>${text}</code></a>`;
}

export type Tone = 'good' | 'off' | 'warn';
const classOf: Readonly<Record<Tone, string>> = { good: 'badge', off: 'badge off', warn: 'badge warn' };
export const badge = (text: Html, tone: Tone = 'good'): Html => html`<span class="${classOf[tone]}">${text}</span>`;

/** What was done by the form before: the query names it, and whatever else it says is ignored. */
export function doneNotice(view: View, { done }: Parameters, known: Readonly<Record<string, MessageKey>>) {
  const key = done !== undefined && Object.hasOwn(known, done) ? known[done] : undefined;
  return key !== undefined && notice(view.t(key));
}

/** Why, in words that stay in the log and that whoever it is about may read. */
export const reasonField = (view: View, id: string): Html => html`<label for="${id}">${view.t('admin.reason')}</label>
<textarea id="${id}" name="reason" rows="2" required maxlength="500" aria-describedby="${id}-hint"></textarea>
<p class="hint" id="${id}-hint">${view.t('admin.reason.hint')}</p>`;

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

/** A secret that nobody will see again. Its page has `copyScripts`. */
export const secretOnce = (view: View, rows: readonly { label: Html; value: string }[]): Html => html`<dl>
${rows.map(
  ({ label, value }, place) =>
    html`<dt>${label}</dt><dd><code id="once-${place}">${value}</code> ${copyButton(view, `once-${place}`)}</dd>\n`,
)}</dl>
<p class="alert"><strong>${view.t('admin.secret_once')}</strong></p>`;

/** A step that cannot be taken back stands behind another one. */
export const disclosure = (summary: Html, content: Html): Html => html`<details><summary>${summary}</summary>
${content}
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

/** The pages of administrators, in the order of their navigation. The last one leads back. */
export const adminTab = navigation('admin.navigation', {
  admin: { path: '/admin', label: 'admin.tab.overview' },
  admin_clients: { path: '/admin/clients', label: 'admin.tab.clients' },
  admin_users: { path: '/admin/users', label: 'admin.tab.users' },
  admin_services: { path: '/admin/service-credentials', label: 'admin.tab.services' },
  admin_webhooks: { path: '/admin/webhooks', label: 'admin.tab.webhooks' },
  admin_keys: { path: '/admin/keys', label: 'admin.tab.keys' },
  admin_audit: { path: '/admin/audit', label: 'admin.tab.audit' },
  admin_leave: { path: '/account', label: 'admin.tab.leave' },
});
