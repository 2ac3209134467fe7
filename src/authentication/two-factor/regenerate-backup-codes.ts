import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { newBackupCodes } from '../credentials/backup-codes.ts';
import { findTotp, isActiveTotp, replaceBackupCodes } from '../credentials/two-factor.store.ts';
import { changeFactors, invalidFactorState, type Owner } from './change-factors.ts';

/**
 * Ten new backup codes in place of all earlier ones.
 * @returns them; nobody will see them again.
 * @throws {RequestError} `invalid_state` unless TOTP is in force: there is nothing else that they could stand in for.
 */
export async function regenerateBackupCodes(deps: MailDeps, owner: Owner): Promise<string[]> {
  const { user_id } = owner.session;
  const totp = await findTotp(deps.db, user_id);
  if (!totp?.secret_sealed) throw await invalidFactorState(deps, owner.session);
  const { codes, hashes } = newBackupCodes();
  await changeFactors(deps, owner, {
    action: 'backup_codes.regenerated',
    mail: 'backup_codes_regenerated',
    require: isActiveTotp(user_id, totp.secret_sealed),
    statements: replaceBackupCodes(user_id, hashes, now(deps)),
  });
  return codes;
}
