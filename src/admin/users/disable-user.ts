import { lastAdministrator, requireAnotherAdministrator } from '../../accounts/last-administrator.ts';
import { refuseAgainstAdministrator } from '../../accounts/new-administrator.ts';
import { deleteLinksOfUser, failUnless } from '../../accounts/one-time-links/store.ts';
import { requireUser } from '../../accounts/require-user.ts';
import { isDisabled, lockUser, setDisabled } from '../../accounts/store.ts';
import { type Actor, auditEvent, type Caller, callerOf, readReason } from '../../audit/audit.ts';
import { deletePendingTotp } from '../../authentication/credentials/two-factor.store.ts';
import { deletePendingSignInsOfUser } from '../../authentication/sessions/pending-sign-ins.store.ts';
import { endSessionsOfUser } from '../../authentication/sessions/store.ts';
import type { Deps } from '../../oauth/deps.ts';
import { revokeGrantsOfUser } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import { type Statement, UniqueViolation } from '../../platform/db/db.ts';
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
  try {
    await deps.db.batch([
      ...requireAnotherAdministrator(caller, user_id, event.event_id, at),
      lockUser(user_id), // of two at once the second finds it done
      failUnless(isDisabled(user_id, false), event.event_id, at),
      setDisabled(user_id, true, at),
      ...endEverything(user_id, at),
      event.statement,
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    await requireEnabled(deps, user_id);
    throw lastAdministrator();
  }
}

const endEverything = (user_id: string, at: number): Statement[] => [
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
  const { event_id, statement } = auditEvent({ action: 'user.enabled', ...callerOf(by), target: user_id }, at);
  const { disabled_at } = await requireUser(deps, user_id);
  if (disabled_at === null) throw invalidState('enabled');
  try {
    await deps.db.batch([
      lockUser(user_id),
      failUnless(isDisabled(user_id, true), event_id, at),
      // Ends once more what began in the very instant of disabling, unseen by it.
      ...endEverything(user_id, at),
      setDisabled(user_id, false, at),
      statement,
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw invalidState('enabled'); // somebody else was quicker
    throw error;
  }
}

async function requireEnabled(deps: Pick<Deps, 'db'>, user_id: string): Promise<void> {
  const { disabled_at } = await requireUser(deps, user_id);
  if (disabled_at !== null) throw invalidState('disabled');
}
