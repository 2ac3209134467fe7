import { type Guide, guidesPath } from '../guides/guides.ts';
import type { Tag } from '../http/operation.ts';
import { type Html, html } from '../pages/html.ts';
import type { View } from '../pages/view.ts';
import type { ApiDocument } from './document.ts';

/** What developers read here: guides, and the operations of the API. */
export type Contents = { readonly guides: readonly Guide[]; readonly document: ApiDocument };

export const referencePath = (tag: Tag): string => `/reference/${anchor(tag)}`;

export const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

export const overviewsOf = ({ guides }: Contents): readonly Guide[] => guides.filter(({ isOverview }) => isOverview);

/** @param current path of the page, or of the overview that it belongs to. */
export const navigation = (
  view: View,
  contents: Contents,
  current: string,
): Html => html`<nav class="tabs" aria-label="${view.t('reference.navigation')}">
<ul>${[
  { path: '/reference', label: view.t('reference.all') },
  ...overviewsOf(contents).map(({ path, title }) => ({ path, label: html`<span lang="en">${title}</span>` })),
  ...groupsOf(contents.document).map(({ name }) => ({
    path: referencePath(name),
    label: html`<span lang="en">${name}</span>`,
  })),
].map(
  ({ path, label }) => html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${label}</a></li>\n`,
)}
<li><a href="/openapi.json">OpenAPI 3.1</a></li>
<li><a href="/developer">${view.t('developer.tab.list')}</a></li></ul>
</nav>
`;

export type Group = ReturnType<typeof groupsOf>[number];

export function groupsOf(document: ApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return document.tags
    .map((tag) => ({ ...tag, members: operations.filter(({ operation }) => operation.tags.includes(tag.name)) }))
    .filter(({ members }) => members.length > 0);
}

/** Every operation of a group, with a link to its description. */
export const groupOf = ({
  name,
  members,
}: Group): Html => html`<h2><a href="${referencePath(name)}" lang="en">${name}</a></h2>
<ul class="addresses">${members.map(
  ({ path, method, operation }) =>
    html`<li><a href="${referencePath(name)}#${anchor(`${method}-${path}`)}"><code>${method.toUpperCase()} ${path}</code></a> <span lang="en">${operation.summary}</span></li>\n`,
)}</ul>
`;

export const maxQuery = 100;

export const searchForm = (
  view: View,
  q: string,
): Html => html`<form method="get" action="/reference/search" role="search" aria-label="${view.plain('reference.search')}">
<label for="q">${view.t('reference.search')}</label>
<input id="q" name="q" type="search" maxlength="${maxQuery}" autocomplete="off" value="${q}" aria-describedby="q-hint">
<p class="hint" id="q-hint">${view.t('reference.search.hint')}</p>
<button type="submit" class="quiet" id="reference-find">${view.t('reference.search.submit')}</button>
</form>`;

/** The overview that leads to a guide, or the guide itself if it is one. */
export const overviewPath = ({ path }: Guide): string => path.split('/', guidesPath.split('/').length + 1).join('/');
