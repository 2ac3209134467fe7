import { countedMembersAtMost } from '../../groups/find-groups.ts';
import { type Group, longestDescription } from '../../groups/group.ts';
import type { ListedMember } from '../../groups/statements.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { itemsOr, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, doneNotice, type Shown, step } from '../components.ts';
import { groupFields } from './list-page.ts';

const path = '/admin/groups';
const tab = adminTab('admin_groups');

type Shape = { group: Group; members: readonly ListedMember[]; next: string | undefined; count: number };

export const groupPage = (view: View, { group, members, next, count }: Shape, shown: Shown): Page => ({
  title: visibleText(group.name),
  tab,
  content: html`<h1>${untrusted(group.name)}</h1>
${group.description !== null && html`<p class="soft">${untrusted(group.description, longestDescription)}</p>`}
${shown.problem}${doneNotice(view, shown, 'groups', ['created', 'saved', 'added', 'removed', 'unchanged'])}
<dl>
<dt>${view.t('admin.id')}</dt><dd><code>${group.group_id}</code></dd>
<dt>${view.t('admin.groups.members')}</dt><dd>${count > countedMembersAtMost ? view.t('admin.groups.many', { count: countedMembersAtMost }) : count}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(group.created_at)}</dd>
</dl>
<h2>${view.t('admin.groups.members')}</h2>
${view.may('groups:write') && addition(view, group, shown)}
${itemsOr(
  members.map((member) => memberItem(view, group, member)),
  view.t('admin.groups.members.none'),
)}
${pager(view, { id: 'members-more', next, label: view.t('admin.groups.members.more'), pathTo: (at) => pathWith(`${path}/${group.group_id}`, at) })}
${view.may('groups:write') && changes(view, group)}
${view.may('audit:read') && html`<p><a href="/admin/audit?who=${group.group_id}">${view.t('admin.history')}</a></p>`}`,
});

const addition = (
  view: View,
  group: Group,
  shown: Shown,
): Html => html`<form method="post" action="${path}/${group.group_id}/members">
<label for="user">${view.t('admin.groups.user')}</label>
<input id="user" name="user" required maxlength="254" autocomplete="off" autocapitalize="none" spellcheck="false" value="${shown.form?.user ?? ''}">
<button type="submit" id="member-add">${view.t('admin.groups.add')}</button>
</form>`;

const changes = (view: View, group: Group): Html => html`<details><summary>${view.t('admin.groups.edit')}</summary>
<form method="post" action="${path}/${group.group_id}/edit">
${groupFields(view, group)}
<button type="submit" id="group-save">${view.t('admin.groups.edit.submit')}</button>
</form></details>
${step(view, 'admin.groups.delete', { path: `${path}/${group.group_id}/delete`, id: 'group-delete', style: 'danger' })}`;

const memberItem = (view: View, { group_id }: Group, member: ListedMember): Html => html`<li><div>
<h3>${view.may('users:read') ? html`<a href="/admin/users/${member.user_id}">${untrusted(member.name ?? member.email)}</a>` : untrusted(member.name ?? member.email)}</h3>
<p>${untrustedEmail(member.email)}</p>
<p class="state">${view.t('admin.groups.since', { when: view.ago(member.added_at) })}${member.provider !== null && html` ${view.t('admin.groups.by_provider', { provider: untrusted(member.provider) })}`}</p>
</div>${
  view.may('groups:write') &&
  html`
<form method="post" action="${path}/${group_id}/remove-member">
${hidden('user', member.user_id)}
<button type="submit" class="quiet" aria-label="${view.plain('admin.groups.remove.named', { user: visibleText(member.name ?? member.email) })}">${view.t('admin.groups.remove')}</button>
</form>`
}</li>
`;
