import { hasRole } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { type Caller, readReason } from '../../audit/audit.ts';
import { createResetLink } from '../../authentication/account-links/reset-password.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { refuseTakeover } from './refuse-takeover.ts';

/**
 * A link to choose a new password, for an administrator to hand to a user whom no mail reaches.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `not_found`; `access_denied` as {@link refuseTakeover} says; as {@link createResetLink}.
 */
export async function resetLinkFor(
  deps: MailDeps,
  caller: Caller,
  user_id: string,
  reason?: string,
): Promise<{ url: string; expires_at: number }> {
  const why = reason === undefined ? undefined : readReason(reason);
  const user = await requireUser(deps, user_id);
  await refuseTakeover(deps, caller, user_id);
  const require = caller.actor === 'cli' ? {} : { role: hasRole(user_id, 'user') };
  return createResetLink(deps, caller, { user, reason: why, require });
}
