import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { deletePicture, lockUser, setProfile } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { invalidState } from '../../platform/errors.ts';

/**
 * Removes the picture of a user, uploaded or of another service, so that neither pages nor apps get it. They may set another.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `not_found`; `invalid_request` for a reason that is none; `invalid_state` for a user without one;
 * `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function removePicture(deps: StoreDeps, caller: Caller, user_id: string, reason?: string): Promise<void> {
  const why = reason === undefined ? undefined : readReason(reason);
  const { picture } = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  if (picture === null) throw invalidState('no_picture');
  const at = now(deps);
  const event = auditEvent({ action: 'user.picture_removed', ...caller, target: user_id, reason: why }, at);
  await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    run: {
      profile: setProfile(user_id, { picture: null }, at),
      file: deletePicture(user_id),
      event: event.statement,
    },
  });
}
