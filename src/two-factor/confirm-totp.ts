import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Statement } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { refusal } from '../errors.ts';
import { revokeGrantsOfOtherSessions } from '../oauth/grants.store.ts';
import { endOtherSessions } from '../sessions/store.ts';
import { newBackupCodes } from './backup-codes.ts';
import { changeFactors, type Owner, wrongState } from './change-factors.ts';
import { activateTotp, replaceBackupCodes, takePendingTry, totpWaits } from './store.ts';
import { matchingStep, totpPurpose } from './totp.ts';

export type TotpConfirmation = {
  code: string;
  /** The one session that stays, when the person wants to be signed out everywhere else (ASVS 7.5.2). */
  onlySession?: string;
};

/**
 * The first code proves that the app has the secret: from now on it is asked for at every sign-in, in place of an
 * earlier one (specification §4.15). That code is used up by this.
 * @returns ten backup codes; nobody will see them again.
 * @throws {RequestError} `invalid_code`; `invalid_state` when nothing waits to be confirmed: never enrolled, ten minutes
 * ago, or five wrong codes ago.
 */
export async function confirmTotp(
  deps: Deps,
  owner: Owner,
  { code, onlySession }: TotpConfirmation,
): Promise<string[]> {
  const { user_id } = owner;
  const at = now(deps);
  const secret_sealed = await takePendingTry(deps.db, user_id, at);
  if (secret_sealed === undefined) throw await wrongState(deps, user_id);
  const step = await matchingStep(deps.vault.open(totpPurpose(user_id), secret_sealed), code, at);
  if (step === undefined) throw refusal('invalid_code', { key: 'totp.wrong' });
  const { codes, hashes } = newBackupCodes();
  await changeFactors(deps, owner, {
    action: 'totp.confirmed',
    mail: 'totp_confirmed',
    onlyIf: totpWaits(user_id, secret_sealed),
    statements: [
      activateTotp({ user_id, secret_sealed, step }, at),
      ...replaceBackupCodes(user_id, hashes, at),
      ...(onlySession === undefined ? [] : signOutElsewhere(owner, onlySession, at)),
    ],
  });
  return codes;
}

/** Whoever else is signed in came without the second factor. What their apps hold goes with it. */
function signOutElsewhere({ user_id, address }: Owner, session_id: string, at: number): Statement[] {
  const { statement } = auditEvent(
    { action: 'session.ended_others', actor: `user:${user_id}`, target: user_id, reason: 'totp_confirmed', address },
    at,
  );
  return [
    endOtherSessions(user_id, session_id, 'sign_out', at),
    revokeGrantsOfOtherSessions(user_id, session_id, 'sign_out', at),
    statement,
  ];
}
