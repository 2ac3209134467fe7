import {
  deleteDeletedUser,
  deletedUsers,
  deleteUser,
  endLinksGivenBy,
  isNotLastAdministrator,
  lockAdministrators,
  lockUser,
  type User,
} from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { codeLimits } from '../../authentication/credentials/code-limits.ts';
import { passwordLimits } from '../../authentication/passwords/password-limits.ts';
import { type SignedIn, sessionRefusal } from '../../authentication/sessions/session.ts';
import { deleteIdentitiesOfUser, findTotp, isCurrentSession } from '../../authentication/statements.ts';
import { orphanClientsOf } from '../../clients/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { deleteGrantsOfUser } from '../../oauth/statements.ts';
import { now } from '../../platform/clock.ts';
import { inSlices } from '../../platform/db/slices.ts';
import { deleteRowsOf } from '../../platform/db/table-rows.ts';
import { tablesWithMany } from '../../platform/db/tables.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';

/**
 * Deletes an account at its owner's request, with its sessions, grants, factors and consents. Clients that the user
 * registered stay without an owner, since other users sign in with those. The id is never used again: a new account with
 * the same address is another user to every client (OIDC Core §2).
 * @param email the address, typed once more.
 * @throws {RequestError} `invalid_request` unless the address is the account's; `invalid_state` for the last
 * administrator; `login_required` if the session has ended meanwhile.
 */
export async function deleteAccount(
  deps: MailDeps & Pick<Deps, 'grants'>,
  { session, caller }: Pick<SignedIn, 'session' | 'caller'>,
  email: string,
): Promise<void> {
  const { user_id } = session;
  requireTypedAddress(session, email);
  const at = now(deps);
  const event = { action: 'user.deleted', ...caller, target: user_id } as const;
  const done = await deps.db.change({
    lock: [...(session.role === 'admin' ? [lockAdministrators()] : []), lockUser(user_id)],
    require: { session: isCurrentSession(session), administrator: isNotLastAdministrator(user_id) },
    run: {
      ...(await accountDeletion(deps, session, at)),
      mail: mailTo(deps, session, 'account_deleted'),
      event: auditEvent(event, at).statement,
    },
  });
  if (done.ok) return;
  throw done.failed === 'session'
    ? await sessionRefusal(deps, session)
    : refusal('invalid_state', { key: 'delete.last_administrator' });
}

/** @throws {RequestError} `invalid_request` unless the address is the account's. */
export function requireTypedAddress(user: Pick<User, 'email'>, typed: string): void {
  if (emailKey(typed) !== emailKey(user.email)) {
    throw invalidFields([fieldProblem('email', { key: 'problem.email.other' })]);
  }
}

/** What a deletion of an account changes, behind a lock of the row of its user. */
export async function accountDeletion(
  deps: MailDeps & Pick<Deps, 'grants'>,
  { user_id, email }: Pick<User, 'user_id' | 'email'>,
  at: number,
) {
  const totp = await findTotp(deps.db, user_id);
  return {
    limits: passwordLimits(deps).reset(email), // while the user's devices are known
    grants: deps.grants.revokeOfUser(user_id, 'user_disabled', at), // their clients are notified
    recent: deps.grants.rememberDeletedOf({ user_id }, at),
    links: endLinksGivenBy(user_id),
    user: deleteUser(user_id, at),
    clients: orphanClientsOf(user_id),
    identities: deleteIdentitiesOfUser(user_id), // so that an account with the same provider can be made at once
    codes: codeLimits(deps, { user_id, confirmed_at: totp?.confirmed_at ?? 0 }).open(),
  };
}

/** Deletes the rows of accounts that no read returns any more, in slices, and then the accounts. @returns false if the signal ended it before all was done. */
export async function finishAccountDeletions(deps: Pick<Deps, 'db' | 'clock'>, signal?: AbortSignal): Promise<boolean> {
  const { db } = deps;
  for (const { user_id } of await deletedUsers(db)) {
    for (const table of tablesWithMany('user')) {
      const deleteRows = (rows: number) =>
        table === 'grants'
          ? deleteGrantsOfUser(db, user_id, rows, now(deps))
          : deleteRowsOf(db, table, 'user', user_id, rows);
      const isDone = await inSlices(async (rows) => (await deleteRows(rows)).changes, signal);
      if (!isDone) return false;
    }
    await deleteDeletedUser(db, user_id);
  }
  return true;
}
