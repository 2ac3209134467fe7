import { lastAdministrator, requireAnotherAdministrator } from '../../accounts/last-administrator.ts';
import { refuseAgainstAdministrator } from '../../accounts/new-administrator.ts';
import { deleteLinksOfUser } from '../../accounts/one-time-links/store.ts';
import { requireUser } from '../../accounts/require-user.ts';
import { isDisabled, lockUser, setDisabled } from '../../accounts/store.ts';
import { type Actor, auditEvent, type Caller, callerOf, readReason } from '../../audit/audit.ts';
import { deletePendingTotp } from '../../authentication/credentials/two-factor.store.ts';
import { deletePendingSignInsOfUser } from '../../authentication/sessions/pending-sign-ins.store.ts';
import { endSessionsOfUser } from '../../authentication/sessions/store.ts';
import type { Deps } from '../../oauth/deps.ts';
import { revokeGrantsOfUser } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';

/**
 * Bars a person at once: no sign-in, every session ended, every grant revoked, no link good, on every node.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `not_found`; `invalid_request` for a reason that is none; `invalid_state` when disabled already,
 * or when no administrator would be left; `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function disableUser(
  deps: StoreDeps,
  user_id: string,
  by: Actor | Caller,
  reason?: string,
): Promise<void> {
  const at = now(deps);
  const caller = callerOf(by);
  const why = reason === undefined ? undefined : readReason(reason);
  const event = auditEvent({ action: 'user.disabled', ...caller, target: user_id, reason: why }, at);
  await requireEnabled(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const { lock, require } = requireAnotherAdministrator(caller, user_id);
  const done = await deps.db.change({
    lock: [...lock, lockUser(user_id)], // of two at once the second finds it done
    require: { ...require, enabled: isDisabled(user_id, false) },
    run: { user: setDisabled(user_id, true, at), access: endEverything(user_id, at), event: event.statement },
  });
  if (done.ok) return;
  await requireEnabled(deps, user_id);
  throw lastAdministrator();
}

const endEverything = (user_id: string, at: number): Sql[] => [
  endSessionsOfUser(user_id, 'user_disabled', at),
  ...revokeGrantsOfUser(user_id, 'user_disabled', at),
  deletePendingSignInsOfUser(user_id),
  deleteLinksOfUser(user_id, 'password_reset'),
  deleteLinksOfUser(user_id, 'change_email'),
  deletePendingTotp(user_id),
];

/**
 * Lets a person sign in again. What was ended stays ended.
 * @throws {RequestError} `not_found`; `invalid_state` when not disabled.
 */
export async function enableUser(deps: StoreDeps, user_id: string, by: Actor | Caller): Promise<void> {
  const at = now(deps);
  const { statement } = auditEvent({ action: 'user.enabled', ...callerOf(by), target: user_id }, at);
  const { disabled_at } = await requireUser(deps, user_id);
  if (disabled_at === null) throw invalidState('enabled');
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { disabled: isDisabled(user_id, true) },
    run: {
      access: endEverything(user_id, at), // again: what began at the very moment of disabling, unseen by it
      user: setDisabled(user_id, false, at),
      event: statement,
    },
  });
  if (!done.ok) throw invalidState('enabled'); // another administrator was faster
}

async function requireEnabled(deps: Pick<Deps, 'db'>, user_id: string): Promise<void> {
  const { disabled_at } = await requireUser(deps, user_id);
  if (disabled_at !== null) throw invalidState('disabled');
}
