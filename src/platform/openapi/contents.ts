import { posix } from 'node:path';
import { type Guide, guidesPath, partsOfIndex } from '../guides/guides.ts';
import type { Tag } from '../http/operation.ts';
import { type Html, html } from '../pages/html.ts';
import type { View } from '../pages/view.ts';
import type { ApiDocument } from './document.ts';

/** What is read here: the documentation, and the operations of the API. */
export type Contents = {
  readonly issuer: string;
  readonly guides: readonly Guide[];
  readonly document: ApiDocument;
};

export const referencePath = (tag: Tag): string => `/reference/${anchor(tag)}`;

export const anchor = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** The first page of the documentation. */
export const indexOf = ({ guides }: Contents): Guide => guides.find(({ path }) => path === guidesPath)!;

/** What developers need first of the documentation: each leads to the others of its folder. */
export const overviewsOf = ({ guides }: Contents): readonly Guide[] =>
  ['relying-parties', 'resource-servers', 'api', 'verify'].map(
    (folder) => guides.find(({ path }) => path === `${guidesPath}/${folder}`)!,
  );

type Entry = { readonly path: string; readonly label: Html };

const navigationOf = (view: View, entries: readonly Entry[], current: string): Html =>
  html`<nav class="tabs" aria-label="${view.t('reference.navigation')}">
<ul>${entries.map(
    ({ path, label }) =>
      html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${label}</a></li>\n`,
  )}</ul>
</nav>
`;

const inEnglish = (label: string): Html => html`<span lang="en">${label}</span>`;

/** Of the reference. @param current path of the page. */
export const navigation = (view: View, contents: Contents, current: string): Html =>
  navigationOf(
    view,
    [
      { path: '/reference', label: view.t('reference.all') },
      { path: guidesPath, label: view.t('reference.documentation') },
      ...overviewsOf(contents).map(({ path, title }) => ({ path, label: inEnglish(title) })),
      ...groupsOf(contents.document).map(({ name }) => ({ path: referencePath(name), label: inEnglish(name) })),
      { path: '/openapi.json', label: html`OpenAPI 3.1` },
      { path: '/developer', label: view.t('developer.tab.list') },
    ],
    current,
  );

/** Of a page of the documentation: what stands beside it, in the part of the first page or in its folder. */
export function guideNavigation(view: View, contents: Contents, guide: Guide): Html {
  const folder = posix.dirname(guide.asset);
  const overview = contents.guides.find(({ asset }) => asset === `${folder}/README.md`);
  const part = partsOfIndex().find(
    ({ assets }) => assets.includes(guide.asset) || assets.includes(overview?.asset ?? ''),
  );
  const beside = contents.guides.filter((one) =>
    folder === 'docs' ? part?.assets.includes(one.asset) : posix.dirname(one.asset) === folder,
  );
  return navigationOf(
    view,
    [
      { path: guidesPath, label: view.t('reference.documentation') },
      ...beside.filter(({ path }) => path !== guidesPath).map(({ path, title }) => ({ path, label: inEnglish(title) })),
      { path: '/reference', label: view.t('reference.title') },
    ],
    guide.path,
  );
}

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

/** Over the documentation and the reference. */
export const searchPath = `${guidesPath}/search`;

export const searchForm = (
  view: View,
  q: string,
): Html => html`<form method="get" action="${searchPath}" role="search" aria-label="${view.plain('reference.search')}">
<label for="q">${view.t('reference.search')}</label>
<input id="q" name="q" type="search" maxlength="${maxQuery}" autocomplete="off" value="${q}" aria-describedby="q-hint">
<p class="hint" id="q-hint">${view.t('reference.search.hint')}</p>
<button type="submit" class="quiet" id="reference-find">${view.t('reference.search.submit')}</button>
</form>`;
