import type { Deps } from '../../oauth/deps.ts';
import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { findChangeableSetting } from '../../platform/settings/changeable-settings.ts';
import { brandPath } from '../brand/page.ts';
import { adminTab, buttonForm } from '../components.ts';
import { mailsPath } from '../mails/page.ts';
import { refusedPath } from '../mails/refused-page.ts';
import type { readSettings, Setting } from './read-settings.ts';
import { settingText } from './setting-text.ts';
import type { MailTest } from './test-mail.ts';

export const settingsPath = '/admin/settings';
export const settingPath = ({ name }: Pick<Setting, 'name'>): string => `${settingsPath}/${name}`;

/** There is a page to change it. */
export const isOffered = (view: View, { name }: Setting): boolean =>
  view.may('settings:write') && findChangeableSetting(name) !== undefined;

type SettingsView = {
  groups: ReturnType<typeof readSettings>;
  mail: Deps['mail']['mode'];
  providers: readonly { id: string; label: string; redirect_uri: string }[];
  /** Of the test before. */
  outcome: Html | false | undefined;
};

export const settingsPage = (view: View, { groups, outcome, ...tests }: SettingsView): Page => ({
  title: view.plain('admin.settings.title'),
  tab: adminTab('admin_settings'),
  content: html`<h1>${view.t('admin.settings.title')}</h1>
<p class="soft">${view.t('admin.settings.intro')}</p>
${outcome}
${groups
  .filter(({ settings }) => settings.length > 0)
  .map(
    ({ group, settings }) => html`<h2 id="${group}">${view.t(`admin.settings.group.${group}`)}</h2>
${group === 'limits' ? foldedTable(view, settings) : settingTable(view, settings)}
${group === 'look' && linkToBrand(view)}${group === 'mail' && mailTest(view, tests)}${group === 'mail' && linkToMails(view)}${group === 'providers' && providerChecks(view, tests)}
`,
  )}`,
});

const settingTable = (view: View, settings: readonly Setting[]): Html =>
  html`<table class="compare settings"><thead><tr><th scope="col">${view.t('admin.settings.name')}</th><th scope="col">${view.t('admin.settings.value')}</th><th scope="col">${view.t('admin.settings.source')}</th></tr></thead>
<tbody>${settings.map((one) => settingRow(view, one))}</tbody></table>`;

/** There are forty limits, and hardly anyone sets one. */
const foldedTable = (view: View, settings: readonly Setting[]): Html =>
  html`<details${settings.some(({ source }) => source !== 'default') && html` open`}><summary>${view.t('admin.settings.folded', { count: settings.length })}</summary>
${settingTable(view, settings)}</details>`;

const linkToBrand = (view: View): Html | false =>
  view.may('brand:read') &&
  html`<p class="soft">${view.t('admin.settings.look', { link: html`<a href="${brandPath}">${view.t('admin.brand.title')}</a>` })}</p>`;

const linkToMails = (view: View): Html =>
  html`<p class="actions"><a class="button quiet" href="${mailsPath}">${view.t('admin.mails.title')}</a>${
    view.may('users:read') && html` <a class="button quiet" href="${refusedPath}">${view.t('admin.refused.title')}</a>`
  }</p>`;

const mailTest = (view: View, { mail }: Pick<SettingsView, 'mail'>): Html =>
  mail === 'none'
    ? html`<p class="soft">${view.t('admin.settings.mail.off')}</p>`
    : html`<p class="soft">${view.t(mail === 'smtp' ? 'admin.settings.mail.what' : 'admin.overview.mail.log')}</p>
${view.may('settings:write') && buttonForm(view.t('admin.settings.mail.test'), { path: `${settingsPath}/test-mail`, id: 'settings-test-mail', style: 'quiet' })}`;

const providerChecks = (view: View, { providers }: Pick<SettingsView, 'providers'>): Html =>
  html`<ul class="items">${providers.map(
    ({ id, label, redirect_uri }) => html`<li><div>
<h3 id="provider-${id}">${untrusted(label)}</h3>
<p>${view.t('admin.settings.provider.redirect_uri')}: <code>${redirect_uri}</code></p></div>
<form method="post" action="${settingsPath}/providers/${id}/check"><button type="submit" class="quiet" aria-describedby="provider-${id}">${view.t('admin.settings.provider.check')}</button></form></li>
`,
  )}</ul>`;

export function mailOutcome(view: View, { to, is_accepted, answer }: MailTest): Html | false {
  const said = answer !== null && html`<br><code>${untrusted(answer, 500)}</code>`;
  const values = { email: html`<bdi>${to}</bdi>` };
  if (!is_accepted) return alert(html`${view.t('admin.settings.mail.refused', values)}${said}`);
  return notice(
    html`${view.t(answer === null ? 'admin.settings.mail.logged' : 'admin.settings.mail.accepted', values)}${said}`,
  );
}

const settingRow = (
  view: View,
  one: Setting,
): Html => html`<tr id="${one.name}"><th scope="row"><code>${untrusted(one.name)}</code><p class="hint">${view.t(settingText(one.name))}</p></th>
<td>${shownValue(view, one)}</td><td>${view.t(`admin.settings.source.${one.source}`)}${isOffered(view, one) && html` <a href="${settingPath(one)}" aria-label="${view.plain('admin.settings.change.of', { name: one.name })}">${view.t('admin.settings.change')}</a>`}</td></tr>
`;

export function shownValue(view: View, { value, is_secret, source }: Setting): Html {
  if (is_secret && source !== 'default') return badge(view.t('admin.settings.set'));
  return value === null ? badge(view.t('admin.settings.not_set'), 'off') : untrusted(value, 2048);
}
