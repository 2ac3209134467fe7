import { accountTab } from '../../authentication/account-tab.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { appMark } from '../../platform/pages/initials.ts';
import { emptyList, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { MyApp } from './my-apps.ts';

export const myAppsPath = '/account/my-apps';
export const appsOnPage = 30;

type Shown = { apps: readonly MyApp[]; next: string | null; isCut: boolean; query: string; isFirst: boolean };

export const myAppsPage = (view: View, { apps, next, isCut, query, isFirst }: Shown): Page => ({
  title: view.plain('my_apps.title'),
  tab: accountTab('my_apps'),
  content: html`<h1>${view.t('my_apps.title')}</h1>
<p class="soft">${view.t('my_apps.intro')}</p>
${(next !== null || query !== '' || !isFirst) && searchForm(view, query)}
${
  apps.length === 0
    ? emptyList(query === '' ? view.t('my_apps.none') : view.t('activity.none'))
    : html`<ul class="items">${apps.map((app) => appItem(view, app))}</ul>`
}
${isCut && html`<p class="soft">${view.t('my_apps.cut')}</p>`}
${
  (next !== null || query !== '' || !isFirst) &&
  html`<p class="actions">${
    next !== null &&
    html`<a class="button quiet" id="apps-more" href="${pathWith(myAppsPath, { q: query, after: next })}">${view.t('my_apps.more')}</a>`
  }${(query !== '' || !isFirst) && html` <a class="button quiet" id="apps-all" href="${myAppsPath}">${view.t('my_apps.all')}</a>`}</p>`
}`,
});

const searchForm = (view: View, query: string): Html => html`<form method="get" action="${myAppsPath}" role="search">
<label for="q">${view.t('my_apps.find')}</label>
<input id="q" name="q" type="search" maxlength="100" autocomplete="off" value="${query}">
<button type="submit" class="quiet" id="apps-find">${view.t('my_apps.find.submit')}</button>
</form>`;

/** The host is shown as text, since the name alone says nothing about where one gets. The app does not learn from which page. */
function appItem(view: View, { client_id, name, logo_url, start_url }: MyApp): Html {
  const id = `app-${client_id}`;
  const logo = logo_url === null ? undefined : new URL(logo_url).pathname;
  return html`<li><div>
<div class="who">${appMark(name, logo, 'small')}<h2 id="${id}"><bdi>${name}</bdi></h2></div>
<p><code>${new URL(start_url).host}</code></p>
</div><a class="button quiet" id="${id}-open" aria-labelledby="${id}-open ${id}" href="${start_url}" rel="noopener noreferrer">${view.t('my_apps.open')}</a></li>
`;
}
