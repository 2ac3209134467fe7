import { type FoundSection, findSections } from '../guides/guides.ts';
import { type Html, html, untrusted } from '../pages/html.ts';
import { emptyList } from '../pages/lists.ts';
import type { Page } from '../pages/page.ts';
import type { View } from '../pages/view.ts';
import { type Contents, type Group, groupOf, groupsOf, navigation, searchForm, searchPath } from './contents.ts';
import type { DescribedOperation } from './document.ts';

/** Guides and operations in which each of the words is found. */
export function searchPage(view: View, contents: Contents, q: string): Page {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ path, method, operation }: Group['members'][number]) => {
    const text = `${method} ${path} ${wordsOf(operation)}`;
    return words.every((word) => text.includes(word));
  };
  const groups = groupsOf(contents.document)
    .map((group) => ({ ...group, members: group.members.filter(isFound) }))
    .filter(({ members }) => members.length > 0);
  const { sections, more } = words.length === 0 ? { sections: [], more: 0 } : findSections(contents.guides, words);
  return {
    title: view.plain('reference.index.title'),
    aside: { home: '/developer', content: navigation(view, contents, searchPath) },
    content: html`<h1>${view.t('reference.index.title')}</h1>
${searchForm(view, q)}
<p><a href="/reference" id="reference-clear">${view.t('reference.search.clear')}</a></p>
${sections.length + groups.length === 0 && emptyList(view.t('reference.search.none', { query: html`<q>${untrusted(q)}</q>` }))}
${sections.length > 0 && foundSections(view, sections, more)}
${groups.map(groupOf)}`,
  };
}

const foundSections = (
  view: View,
  sections: readonly FoundSection[],
  more: number,
): Html => html`<h2>${view.t('reference.guides')}</h2>
<ul class="addresses" lang="en">${sections.map(
  ({ guide, anchor, heading, excerpt }) =>
    html`<li><a href="${guide.path}${anchor}">${heading}</a> <span>${excerpt}</span></li>\n`,
)}</ul>
${more > 0 && html`<p class="soft" id="reference-more">${view.t('reference.search.more', { more })}</p>`}
`;

const found = new WeakMap<DescribedOperation, string>();

/** Names, parameters, members, statuses and errors, in words. The examples would be found by words that mean nothing. */
const wordsOf = (operation: DescribedOperation): string =>
  found.getOrInsertComputed(operation, () =>
    JSON.stringify(operation, (key, value) => (/^examples?$/.test(key) ? undefined : value)).toLowerCase(),
  );
