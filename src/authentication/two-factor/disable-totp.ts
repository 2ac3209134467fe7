import type { MailDeps } from '../../platform/deps.ts';
import { deleteBackupCodes, deleteTotp, findTotp, isActiveTotp } from '../credentials/two-factor.store.ts';
import { changeFactors, invalidFactorState, type Owner } from './change-factors.ts';

/**
 * No second factor is asked for any more; the backup codes go with it, and a secret that waits.
 * @throws {RequestError} `invalid_state` unless one is in force.
 */
export async function disableTotp(deps: MailDeps, owner: Owner): Promise<void> {
  const { user_id } = owner.session;
  const totp = await findTotp(deps.db, user_id);
  if (!totp?.secret_sealed) throw await invalidFactorState(deps, owner.session);
  await changeFactors(deps, owner, {
    action: 'totp.disabled',
    mail: 'totp_disabled',
    require: isActiveTotp(user_id, totp.secret_sealed),
    statements: [deleteBackupCodes(user_id), deleteTotp(user_id)],
  });
}
