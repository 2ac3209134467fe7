import type { Client } from '../../clients/client.ts';
import { type GroupList, groupLists } from '../../clients/client-groups.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';

// Which groups a client is for, and which it sees, as administrators decide it.

/** By id, as far as they are still there. */
export type GroupNames = ReadonlyMap<string, string>;

/** What is chosen for everyone, or for all. */
const open = 'all';

/** Deleted ones are left out: sent with the form, they would be refused. */
const namesOf = (ids: readonly string[], names: GroupNames): string[] => ids.flatMap((id) => names.get(id) ?? []);

/** Two choices and a list, which works without scripts. @param form distinguishes the fields of several forms on the page. */
const groupField = (view: View, list: GroupList, of: { client: Client; names: GroupNames; form: string }): Html => {
  const { client, names, form } = of;
  const chosen = client[list];
  const id = `${form}-${list}`;
  return html`<fieldset aria-describedby="${id}-hint"><legend>${view.t(`admin.clients.${list}`)}</legend>
<label><input type="radio" name="${list}" value="${open}"${chosen === null && html` checked`}> ${view.t(`admin.clients.${list}.all`)}</label>
<label><input type="radio" name="${list}" value="named"${chosen !== null && html` checked`}> ${view.t(`admin.clients.${list}.named`)}</label>
<label for="${id}">${view.t('admin.clients.groups_named')}</label>
<textarea id="${id}" name="${list}_named" rows="2" autocomplete="off" spellcheck="false">
${namesOf(chosen ?? [], names).join('\n')}</textarea></fieldset>
<p class="hint" id="${id}-hint">${view.t(`admin.clients.${list}.hint`)}</p>
`;
};

/** @param seesGroups the client has, or would have, the scope `groups`. */
export const groupFields = (
  view: View,
  of: { client: Client; names: GroupNames; form: string },
  seesGroups: boolean,
): Html => html`${groupField(view, 'allowed_groups', of)}${seesGroups && groupField(view, 'visible_groups', of)}`;

/** What such a form has sent; a list that is not in it stays as it is. */
export function groupsOf(form: Parameters): { [Name in GroupList]?: string[] | null } {
  return Object.fromEntries(
    groupLists.flatMap((list) => {
      if (form[list] === undefined) return [];
      const named = (form[`${list}_named`] ?? '').split(/\r?\n/).map((name) => name.trim());
      return [[list, form[list] === open ? null : named.filter(Boolean)]];
    }),
  );
}

/** What is decided, unless it is open to everyone. */
export const groupFacts = (view: View, client: Client, names: GroupNames): Html =>
  html`${groupLists.map((list) => {
    const chosen = client[list];
    return (
      chosen !== null &&
      html`<dt>${view.t(`admin.clients.${list}`)}</dt><dd>${chosen.map(
        (id, place) =>
          html`${place > 0 && ', '}${names.has(id) && view.may('groups:read') ? html`<a href="/admin/groups/${id}">${untrusted(names.get(id) ?? '')}</a>` : names.has(id) ? untrusted(names.get(id) ?? '') : view.t('admin.clients.group_gone')}`,
      )}</dd>
`
    );
  })}`;
