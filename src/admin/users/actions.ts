import type { MessageDescriptor, MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { disclosure, reasonField } from '../components.ts';
import type { UserOverview } from './read-user.ts';

/**
 * What an administrator can do for or against somebody. What nobody may do to themselves is not offered to them.
 * @param options.barred why they take nothing from this one yet.
 */
export function userActions(
  view: View,
  { user, lock }: UserOverview,
  { isSelf, unavailableDecision }: { isSelf: boolean; unavailableDecision?: MessageDescriptor },
): Html {
  const button = (step: string, label: MessageKey, kind: 'quiet' | 'danger', fields: Html | false = false) =>
    html`<form method="post" action="/admin/users/${user.user_id}/${step}">
${fields}<button type="submit" class="${kind}" id="user-${step}">${view.t(label)}</button></form>`;
  const step = (summary: MessageKey, what: MessageKey, form: Html) =>
    disclosure(view.t(summary), html`<p class="soft">${view.t(what)}</p>\n${form}`);

  const isActive = user.disabled_at === null;
  return html`${unavailableDecision !== undefined && html`<p class="advice">${view.t(unavailableDecision.key, unavailableDecision.values)}</p>\n`}${
    lock.failures > 0 &&
    step('admin.users.unlock', 'admin.users.unlock.what', button('unlock', 'admin.users.unlock.submit', 'quiet'))
  }
${
  !unavailableDecision &&
  step('admin.users.sign_out', 'admin.users.sign_out.what', button('sign-out', 'admin.users.sign_out.submit', 'danger'))
}
${
  !isSelf &&
  !unavailableDecision &&
  step(
    'admin.users.reset',
    'admin.users.reset.what',
    button('reset-factors', 'admin.users.reset.submit', 'danger', reasonField(view, 'reset-reason')),
  )
}
${
  isActive
    ? !unavailableDecision &&
      step(
        'admin.users.disable',
        isSelf ? 'admin.users.disable.self' : 'admin.users.disable.what',
        button('disable', 'admin.users.disable.submit', 'danger', reasonField(view, 'disable-reason')),
      )
    : step('admin.users.enable', 'admin.users.enable.what', button('enable', 'admin.users.enable.submit', 'quiet'))
}
${
  !isSelf &&
  !unavailableDecision &&
  (user.role === 'admin'
    ? step(
        'admin.users.unmake',
        'admin.users.unmake.what',
        button('role', 'admin.users.unmake.submit', 'danger', role('user')),
      )
    : step(
        'admin.users.make',
        'admin.users.make.what',
        button('role', 'admin.users.make.submit', 'danger', role('admin')),
      ))
}`;
}

const role = (to: 'user' | 'admin') => html`<input type="hidden" name="role" value="${to}">\n`;
