import { type Actor, auditEvent } from '../audit/audit.ts';
import { readReason } from '../audit/reason.ts';
import { now } from '../clock.ts';
import type { Statement } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { invalidState, notFound } from '../errors.ts';
import { revokeGrantsOfUser } from '../oauth/grants.store.ts';
import { deleteLinksOfUser } from '../one-time-links/store.ts';
import { endSessionsOfUser } from '../sessions/store.ts';
import { deleteAttemptsOfUser } from '../signin/store.ts';
import { forgetPendingTotp } from '../two-factor/store.ts';
import { findUser, setDisabled } from './store.ts';

/**
 * Bars a person at once: no sign-in, every session ended, every grant revoked, no link good, on every node.
 * @throws {RequestError} `not_found`; `invalid_state` when disabled already.
 */
export async function disableUser(deps: Deps, user_id: string, actor: Actor, reason?: string): Promise<void> {
  const at = now(deps);
  const event = { action: 'user.disabled', actor, target: user_id, reason: reason && readReason(reason) };
  const { statement } = auditEvent(event, at);
  await requireUser(deps, user_id, false);
  await deps.db.batch([setDisabled(user_id, true, at), ...endEverything(user_id, at), statement]);
}

const endEverything = (user_id: string, at: number): Statement[] => [
  endSessionsOfUser(user_id, 'user_disabled', at),
  revokeGrantsOfUser(user_id, 'user_disabled', at),
  deleteAttemptsOfUser(user_id),
  deleteLinksOfUser(user_id, 'password_reset'),
  deleteLinksOfUser(user_id, 'change_email'),
  forgetPendingTotp(user_id),
];

/**
 * Lets a person sign in again. What was ended stays ended.
 * @throws {RequestError} `not_found`; `invalid_state` when not disabled.
 */
export async function enableUser(deps: Deps, user_id: string, actor: Actor): Promise<void> {
  const at = now(deps);
  const { statement } = auditEvent({ action: 'user.enabled', actor, target: user_id }, at);
  await requireUser(deps, user_id, true);
  // Ends once more what began in the very instant of disabling, unseen by it.
  await deps.db.batch([...endEverything(user_id, at), setDisabled(user_id, false, at), statement]);
}

async function requireUser(deps: Deps, user_id: string, disabled: boolean): Promise<void> {
  const user = await findUser(deps.db, user_id);
  if (!user) throw notFound();
  if ((user.disabled_at !== null) !== disabled) throw invalidState(user.disabled_at === null ? 'enabled' : 'disabled');
}
