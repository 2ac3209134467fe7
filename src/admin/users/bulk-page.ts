import type { User } from '../../accounts/statements.ts';
import { refusalMessage } from '../../platform/pages/errors.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { emptyList } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, reasonField, type Shown } from '../components.ts';
import type { BulkAction, BulkResult, Selected } from './change-several.ts';

const path = '/admin/users/bulk';

/** Prefix of the checkboxes. */
export const selectedPrefix = 'user:';

const userLine = (user: User, more?: Html | false): Html =>
  html`<li><a href="/admin/users/${user.user_id}">${untrusted(user.name ?? user.email)}</a>${user.name !== null && html` (${untrustedEmail(user.email)})`}${more && html`: ${more}`}</li>\n`;

/** Names who is affected before anything is done. */
export function bulkPreviewPage(view: View, action: BulkAction, selected: readonly Selected[], shown: Shown): Page {
  const affected = selected.filter(({ problem }) => problem === undefined);
  const others = selected.filter(({ problem }) => problem !== undefined);
  return {
    title: view.plain(`admin.users.bulk.${action}`),
    tab: adminTab('admin_users'),
    content: html`<h1>${view.t(`admin.users.bulk.${action}`)}</h1>
${shown.problem}
${
  affected.length === 0
    ? emptyList(view.t('admin.users.bulk.none'))
    : html`<p>${view.t('admin.users.bulk.affected', { count: affected.length })}</p>
<ul>${affected.map(({ user }) => userLine(user))}</ul>`
}
${
  others.length > 0 &&
  html`<h2>${view.t('admin.users.bulk.others')}</h2>
<ul>${others.map(({ user, problem }) => userLine(user, problem && view.t(problem.key, problem.values)))}</ul>`
}
${
  affected.length > 0 &&
  html`<form method="post" action="${path}">
${hidden('action', action)}${affected.map(({ user }) => hidden(`${selectedPrefix}${user.user_id}`, 'on'))}
${reasonField(view, 'bulk-reason')}
<button type="submit" class="danger" id="users-bulk-confirm">${view.t(`admin.users.bulk.${action}.submit`, { count: affected.length })}</button>
</form>`
}
<p><a href="/admin/users">${view.t('admin.users.bulk.cancel')}</a></p>`,
  };
}

export const bulkResultPage = (
  view: View,
  action: BulkAction,
  results: readonly (Omit<BulkResult, 'user_id'> & { user: User | undefined })[],
): Page => {
  const others = results.filter(({ isChanged }) => !isChanged);
  const whyNot = ({ refusal }: Pick<BulkResult, 'refusal'>) =>
    refusal === undefined
      ? view.t(`admin.users.bulk.already.${action}`)
      : (refusalMessage(view, refusal) ?? html`<span lang="en">${refusal.message}</span>`);
  return {
    title: view.plain(`admin.users.bulk.${action}`),
    tab: adminTab('admin_users'),
    content: html`<h1>${view.t(`admin.users.bulk.${action}`)}</h1>
<div class="notice" role="status"><p>${view.t('admin.users.bulk.done', { count: results.length - others.length })}</p></div>
${
  others.length > 0 &&
  html`<h2>${view.t('admin.users.bulk.others')}</h2>
<ul>${others.map((one) => one.user && userLine(one.user, whyNot(one)))}</ul>`
}
<p><a class="button" href="/admin/users">${view.t('admin.go_on')}</a></p>`,
  };
};
