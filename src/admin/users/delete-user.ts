import { lastAdministrator, refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { hasEmail } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { invalidState, refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import {
  changeToDeleted,
  type DeletionDeps,
  requireTypedAddress,
} from '../../self-service/delete-account/delete-account.ts';

/**
 * Deletes a user, with the same effects as when users delete their own account, and notifies them.
 * @param confirmation the user's address, typed once more, and the reason, which only the command line may leave out.
 * @throws {RequestError} `not_found`; `invalid_request` unless the address is the user's; `invalid_state` when no
 * administrator would be left; `access_denied` for oneself, and as {@link refuseAgainstAdministrator} says.
 */
export async function deleteUserByAdministrator(
  deps: DeletionDeps,
  caller: Caller,
  user_id: string,
  confirmation: { email: string; reason?: string },
): Promise<void> {
  if (caller.actor === `user:${user_id}`) throw refusal('access_denied', { key: 'users.own_deletion' });
  const reason = confirmation.reason === undefined ? undefined : readReason(confirmation.reason);
  const user = await requireUser(deps, user_id);
  requireTypedAddress(user, confirmation.email);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const at = now(deps);
  const event = { action: 'user.deleted', ...caller, target: user_id, reason } as const;
  const done = await changeToDeleted(deps, caller, user, {
    at,
    require: { address: hasEmail(user_id, user.email) },
    run: { mail: mailTo(deps, user, 'account_deleted_admin'), event: auditEvent(event, at).statement },
  });
  if (done.ok) return;
  if (done.failed === 'anotherAdministrator') throw lastAdministrator();
  await requireUser(deps, user_id);
  throw invalidState('changed');
}
