import { type Group, longestDescription } from '../../groups/group.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { itemsOr, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, doneNotice, type Shown, searchForm, searchOutcome } from '../components.ts';

const path = '/admin/groups';

export function groupsPage(
  view: View,
  { groups, next }: { groups: readonly Group[]; next: string | undefined },
  shown: Shown,
): Page {
  const q = shown.query?.q?.trim() ?? '';
  return {
    title: view.plain('admin.groups.title'),
    tab: adminTab('admin_groups'),
    content: html`<h1>${view.t('admin.groups.title')}</h1>
<p class="soft">${view.t('admin.groups.intro')}</p>
${doneNotice(view, shown, 'groups', ['deleted'])}
${searchForm(view, 'groups', q)}
${searchOutcome(view, q, groups.length === 0, path)}
${
  (groups.length > 0 || q === '') &&
  itemsOr(
    groups.map((group) => groupItem(group)),
    view.t('admin.groups.none'),
  )
}
${pager(view, { id: 'groups-more', next, label: view.t('admin.groups.more'), pathTo: (at) => pathWith(path, { q, ...at }) })}
${view.may('groups:write') && creation(view, shown)}`,
  };
}

const creation = (view: View, shown: Shown): Html => html`<h2 id="create">${view.t('admin.groups.create')}</h2>
${shown.problem}
<form method="post" action="${path}">
${groupFields(view, { name: shown.form?.name ?? '', description: shown.form?.description ?? null })}
<button type="submit" id="group-create">${view.t('admin.groups.create.submit')}</button>
</form>`;

const groupItem = (group: Group): Html => html`<li><div>
<h2><a href="${path}/${group.group_id}">${untrusted(group.name)}</a></h2>
${group.description !== null && html`<p>${untrusted(group.description, longestDescription)}</p>`}
</div></li>
`;

/** Of the forms that make a group and change one. */
export const groupFields = (view: View, { name, description }: Pick<Group, 'name' | 'description'>): Html =>
  html`<label for="name">${view.t('admin.groups.name')}</label>
<input id="name" name="name" required maxlength="100" autocomplete="off" value="${name}" aria-describedby="name-hint">
<p class="hint" id="name-hint">${view.t('admin.groups.name.hint')}</p>
<label for="description">${view.t('admin.groups.description')}</label>
<textarea id="description" name="description" rows="2" maxlength="${longestDescription}">
${description ?? ''}</textarea>`;
