import { lastAdministrator, requireAnotherAdministrator } from '../../accounts/last-administrator.ts';
import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { refuseAgainstAdministrator } from '../../accounts/new-administrator.ts';
import { requireUser } from '../../accounts/require-user.ts';
import { hasRole, listAdministrators, lockUser, setRole } from '../../accounts/store.ts';
import type { Role, User } from '../../accounts/user.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { deletePendingSignInsOfUser } from '../../authentication/sessions/pending-sign-ins.store.ts';
import { endSessionsOfUser } from '../../authentication/sessions/store.ts';
import { revokeGrantsOfUser } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps, MailDeps } from '../../platform/deps.ts';
import { invalidState, refusal } from '../../platform/errors.ts';
import { passwordLimits } from '../../platform/limits/failure-limits.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';

/**
 * Signs a person out everywhere: every session, every grant, every sign-in that is half done. They are told by mail.
 * @throws {RequestError} `not_found`; `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function signOutUser(deps: MailDeps, caller: Caller, user_id: string): Promise<void> {
  const user = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const sendsMail = await mayMailAbout(deps, 'signed_out', user_id, maxMailsAboutRevocations);
  const at = now(deps);
  const event = { action: 'user.signed_out', ...caller, target: user_id, reason: 'administrator' } as const;
  await deps.db.change({
    lock: lockUser(user_id),
    run: {
      sessions: endSessionsOfUser(user_id, 'administrator', at),
      grants: revokeGrantsOfUser(user_id, 'administrator', at),
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      event: auditEvent(event, at).statement,
      mails: sendsMail ? mailTo(deps, user, 'signed_out') : undefined,
    },
  });
}

/**
 * Forgets the wrong passwords of a person, also when there were so many that the password is disabled.
 * @throws {RequestError} `not_found`.
 */
export async function unlockUser(deps: LimitDeps, caller: Caller, user_id: string): Promise<void> {
  const user = await requireUser(deps, user_id);
  const { statement } = auditEvent({ action: 'user.unlocked', ...caller, target: user_id }, now(deps));
  await deps.db.change({ run: { failures: passwordLimits(deps).reset(user.email), event: statement } });
}

/**
 * Makes somebody an administrator, or no longer one, from their next request on, and tells them. Of a new
 * one every administrator is told: whoever has taken over one account must not make a second in silence.
 * @returns the person as they are now; nothing happens to somebody who has the role already.
 * @throws {RequestError} `not_found`; `access_denied` for one's own role, and as
 * {@link refuseAgainstAdministrator} says; `invalid_state` when no administrator would be
 * left.
 */
export async function changeRole(deps: MailDeps, caller: Caller, user_id: string, role: Role): Promise<User> {
  if (caller.actor === `user:${user_id}`) throw refusal('access_denied', { key: 'users.own_role' });
  const user = await requireUser(deps, user_id);
  if (user.role === role) return user;
  await refuseAgainstAdministrator(deps, caller, user_id);
  const notified = role === 'admin' ? await listAdministrators(deps.db) : [];
  const at = now(deps);
  const change = { before: { role: user.role }, after: { role } };
  const event = auditEvent({ action: 'user.role_changed', ...caller, target: user_id, ...change }, at);
  const { lock, require } = role === 'admin' ? { lock: [], require: {} } : requireAnotherAdministrator(caller, user_id);
  const done = await deps.db.change({
    lock,
    require: { ...require, role: hasRole(user_id, user.role) },
    run: {
      user: setRole(user_id, role, caller.actor, at),
      mails: mailTo(deps, user, role === 'admin' ? 'role_admin' : 'role_user'),
      mailsToAdministrators: notified.flatMap((one) => mailTo(deps, one, 'new_administrator', { email: user.email })),
      event: event.statement,
    },
  });
  const current = await requireUser(deps, user_id);
  if (done.ok) return current;
  throw current.role === user.role ? lastAdministrator() : invalidState(current.role);
}
