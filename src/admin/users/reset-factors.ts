import { refuseAgainstAdministrator } from '../../accounts/new-administrator.ts';
import { requireUser } from '../../accounts/require-user.ts';
import { lockUser } from '../../accounts/store.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { deletePasskeysOfUser, listPasskeys } from '../../authentication/credentials/passkeys.store.ts';
import {
  countBackupCodes,
  deleteBackupCodes,
  deleteTotp,
  findTotp,
} from '../../authentication/credentials/two-factor.store.ts';
import { deletePendingSignInsOfUser } from '../../authentication/sessions/pending-sign-ins.store.ts';
import { endSessionsOfUser } from '../../authentication/sessions/store.ts';
import { revokeGrantsOfUser } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';

/**
 * For somebody who has lost what they signed in with: takes away the authenticator app, the backup codes and the
 * passkeys, ends whatever was opened with them, and tells the person. The password stays; whoever has none sets one by
 * the link of a password reset.
 * @throws {RequestError} `not_found`; `access_denied` for one's own factors, which have pages that ask for them,
 * and as {@link refuseAgainstAdministrator} says;
 * `invalid_request` without a reason.
 */
export async function resetFactors(deps: MailDeps, caller: Caller, user_id: string, reason: string): Promise<void> {
  if (caller.actor === `user:${user_id}`) throw refusal('access_denied', { key: 'users.own_factors' });
  const user = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const why = readReason(reason);
  const [totp, codes, passkeys] = await Promise.all([
    findTotp(deps.db, user_id),
    countBackupCodes(deps.db, user_id),
    listPasskeys(deps.db, user_id),
  ]);
  const before = { totp: totp?.confirmed_at != null, backup_codes: codes.remaining, passkeys: passkeys.length };
  const at = now(deps);
  const event = { action: 'user.factors_reset', ...caller, target: user_id, reason: why, before } as const;
  await deps.db.change({
    lock: lockUser(user_id),
    run: {
      totp: deleteTotp(user_id),
      backupCodes: deleteBackupCodes(user_id),
      passkeys: deletePasskeysOfUser(user_id),
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      sessions: endSessionsOfUser(user_id, 'administrator', at),
      grants: revokeGrantsOfUser(user_id, 'administrator', at),
      mails: mailTo(deps, user, 'factors_reset', { reset_url: `${deps.config.baseUrl}/reset` }),
      event: auditEvent(event, at).statement,
    },
  });
}
