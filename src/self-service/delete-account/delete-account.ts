import { type Guard, leavingAnother } from '../../accounts/administrators.ts';
import {
  claimOfEmail,
  claimOfUserName,
  claimsOfHandles,
  deleteDeletedUser,
  deletedUsers,
  deleteUser,
  endLinksGivenBy,
  findProvisioned,
  findUser,
  lockUser,
  type User,
} from '../../accounts/statements.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { codeLimits } from '../../authentication/credentials/code-limits.ts';
import { resetPasswordLimits } from '../../authentication/passwords/password-limits.ts';
import { type SignedIn, sessionRefusal } from '../../authentication/sessions/session.ts';
import {
  claimOfIdentity,
  claimOfPasskey,
  deleteIdentitiesOfUser,
  findTotp,
  isCurrentSession,
  listIdentities,
  listPasskeys,
} from '../../authentication/statements.ts';
import { orphanClientsOf } from '../../clients/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { deleteGrantsOfUser } from '../../oauth/statements.ts';
import type { Claim } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { inOrder, type OneDb } from '../../platform/db/db.ts';
import { workIn } from '../../platform/db/parts.ts';
import { inSlices } from '../../platform/db/slices.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { deleteRowsOf } from '../../platform/db/table-rows.ts';
import { tablesWithMany } from '../../platform/db/tables.ts';
import type { MailDeps, PlacementDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { rememberLeaving } from '../../signals/statements.ts';

/**
 * Deletes an account at its owner's request, with its sessions, grants, factors and consents. Clients that the user
 * registered stay without an owner, since other users sign in with those. The id is never used again: a new account with
 * the same address is another user to every client (OIDC Core §2).
 * @param email the address, typed once more.
 * @throws {RequestError} `invalid_request` unless the address is the account's; `invalid_state` for the last
 * administrator; `login_required` if the session has ended meanwhile.
 */
export async function deleteAccount(
  deps: DeletionDeps,
  { session, caller }: Pick<SignedIn, 'session' | 'caller'>,
  email: string,
): Promise<void> {
  const { user_id } = session;
  requireTypedAddress(session, email);
  const at = now(deps);
  const event = { action: 'user.deleted', ...caller, target: user_id } as const;
  const done = await changeToDeleted(deps, caller, session, {
    at,
    require: { session: isCurrentSession(session) },
    run: { mail: mailTo(deps, session, 'account_deleted'), event: auditEvent(event, at).statement },
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

export type DeletionDeps = MailDeps & PlacementDeps & Pick<Deps, 'grants'>;

type Deletion = {
  /** Unix seconds. */
  at: number;
  require: Readonly<Partial<Record<'session' | 'address', Sql>>>;
  run: { mail?: readonly Sql[]; event?: Sql };
};

/** The deletion of an account. What is elsewhere than its user ends before, where that is no harm alone, or after. */
export async function changeToDeleted(
  deps: DeletionDeps,
  caller: Caller,
  user: Pick<User, 'user_id' | 'email' | 'role'>,
  { at, require, run }: Deletion,
) {
  const { user_id, email, role } = user;
  const totp = await findTotp(deps.db, user_id);
  const account = {
    signals: rememberLeaving(user_id, at, at), // while it is known which clients have the user
    limits: resetPasswordLimits(email), // while the user's devices are known
    grants: deps.grants.revokeOfUser(user_id, 'user_disabled', at), // their clients are notified
    recent: deps.grants.rememberDeletedOf({ user_id }, at),
    links: endLinksGivenBy(user_id),
    user: deleteUser(user_id, at, deps.db.parts.length === 1),
    identities: deleteIdentitiesOfUser(user_id), // so that an account with the same provider can be made at once
    codes: codeLimits(deps, { user_id, confirmed_at: totp?.confirmed_at ?? 0 }).open(),
  };
  const isOwn = caller.actor === `user:${user_id}`;
  const deletion = (guard: Guard) => ({
    in: deps.db.of(user_id),
    lock: [...(isOwn && role !== 'admin' ? [] : guard.lock), lockUser(user_id)],
    require: { ...require, ...guard.require },
    run: { claim: guard.claim, ...account, ...run },
  });
  return leavingAnother(
    deps,
    caller,
    user,
    (guard) => inOrder(deletion(guard), { in: deps.db.shared, run: { clients: orphanClientsOf(user_id) } }),
    await claimsOf(deps, user),
  );
}

/** What is free once the account is deleted. */
async function claimsOf(
  deps: Pick<Deps, 'db' | 'placement'>,
  { user_id, email }: Pick<User, 'user_id' | 'email'>,
): Promise<readonly Claim[]> {
  if (deps.db.parts.length === 1) return [];
  const { db } = deps;
  const [user, identities, passkeys, provisioned] = await Promise.all([
    findUser(db, user_id),
    listIdentities(db, user_id),
    listPasskeys(db, user_id),
    findProvisioned(db, user_id),
  ]);
  const handles = claimsOfHandles(db, user_id, { from: user?.preferred_username ?? null, to: null }, 0);
  return [
    claimOfEmail(deps, email),
    ...(handles.givenUp ?? []),
    ...passkeys.map(({ credential_id }) => claimOfPasskey(db, credential_id)),
    ...identities.map(({ issuer, subject }) => claimOfIdentity(db, issuer, subject)),
    ...(provisioned ? [claimOfUserName(db, provisioned.user_name_key)] : []),
  ];
}

/** Deletes the rows of accounts that no read returns any more, in slices, and then the accounts. @returns false if the signal ended it before all was done. */
export async function finishAccountDeletions(deps: Pick<Deps, 'clock' | 'db'>, signal?: AbortSignal): Promise<boolean> {
  const areDone = await workIn(deps.db.parts, (part) => finishDeletionsIn(part, deps, signal));
  return !areDone.includes(false);
}

async function finishDeletionsIn(
  part: OneDb,
  deps: Pick<Deps, 'clock' | 'db'>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const { user_id } of await deletedUsers(part)) {
    for (const table of tablesWithMany('user')) {
      const deleteRows = (rows: number) =>
        table === 'grants'
          ? deleteGrantsOfUser(part, user_id, rows, now(deps))
          : deleteRowsOf(part, table, 'user', user_id, rows);
      const isDone = await inSlices(async (rows) => (await deleteRows(rows)).changes, signal);
      if (!isDone) return false;
    }
    if (deps.db.parts.length > 1) await deps.db.shared.run(orphanClientsOf(user_id)); // where the deletion was cut off before
    await deleteDeletedUser(part, user_id);
  }
  return true;
}
