import type { MessageDescriptor, MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { disclosure, reasonField } from '../components.ts';
import type { UserOverview } from './read-user.ts';

/**
 * The forms for what an administrator may do to an account. What would be refused for their own account is left out.
 * @param options.restriction why a new administrator may not act on another one yet.
 */
export function userActions(
  view: View,
  { user, lock }: UserOverview,
  { isSelf, restriction }: { isSelf: boolean; restriction?: MessageDescriptor },
): Html {
  const button = (step: string, label: MessageKey, kind: 'quiet' | 'danger', fields: Html | false = false) =>
    html`<form method="post" action="/admin/users/${user.user_id}/${step}">
${fields}<button type="submit" class="${kind}" id="user-${step}">${view.t(label)}</button></form>`;
  const step = (summary: MessageKey, what: MessageKey, form: Html) =>
    disclosure(view.t(summary), html`<p class="soft">${view.t(what)}</p>\n${form}`);

  const isActive = user.disabled_at === null;
  return html`${restriction !== undefined && html`<p class="advice">${view.t(restriction.key, restriction.values)}</p>\n`}${
    lock.failures > 0 &&
    step('admin.users.unlock', 'admin.users.unlock.what', button('unlock', 'admin.users.unlock.submit', 'quiet'))
  }
${
  !restriction &&
  step('admin.users.sign_out', 'admin.users.sign_out.what', button('sign-out', 'admin.users.sign_out.submit', 'danger'))
}
${
  !isSelf &&
  !restriction &&
  step(
    'admin.users.reset',
    'admin.users.reset.what',
    button('reset-factors', 'admin.users.reset.submit', 'danger', reasonField(view, 'reset-reason')),
  )
}
${
  isActive
    ? !restriction &&
      step(
        'admin.users.disable',
        isSelf ? 'admin.users.disable.self' : 'admin.users.disable.what',
        button('disable', 'admin.users.disable.submit', 'danger', reasonField(view, 'disable-reason')),
      )
    : step('admin.users.enable', 'admin.users.enable.what', button('enable', 'admin.users.enable.submit', 'quiet'))
}
${
  !isSelf &&
  !restriction &&
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
