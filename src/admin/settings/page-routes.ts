import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab } from '../components.ts';
import { readSettings, type Setting } from './read-settings.ts';

/** The configuration of the process that answers. It is changed where the server is started. */
export async function settingPageRoutes(app: FastifyInstance, deps: Deps) {
  pagesFor(app, deps, administratorPage).show('/admin/settings', ({ view }) =>
    settingsPage(view, readSettings(deps.config)),
  );
}

const settingsPage = (view: View, groups: ReturnType<typeof readSettings>): Page => ({
  title: view.plain('admin.settings.title'),
  tab: adminTab('admin_settings'),
  content: html`<h1>${view.t('admin.settings.title')}</h1>
<p class="soft">${view.t('admin.settings.intro')}</p>
${groups
  .filter(({ settings }) => settings.length > 0)
  .map(
    ({ group, settings }) => html`<h2>${view.t(`admin.settings.group.${group}`)}</h2>
<table class="compare"><thead><tr><th scope="col">${view.t('admin.settings.name')}</th><th scope="col">${view.t('admin.settings.value')}</th><th scope="col">${view.t('admin.settings.source')}</th></tr></thead>
<tbody>${settings.map((one) => settingRow(view, one))}</tbody></table>
`,
  )}`,
});

const settingRow = (view: View, one: Setting): Html => html`<tr><th scope="row"><code>${untrusted(one.name)}</code></th>
<td>${shownValue(view, one)}</td><td>${view.t(`admin.settings.source.${one.source}`)}</td></tr>
`;

function shownValue(view: View, { value, is_secret, source }: Setting): Html {
  if (is_secret && source !== 'default') return badge(view.t('admin.settings.set'));
  return value === null ? badge(view.t('admin.settings.not_set'), 'off') : untrusted(value, 2048);
}
