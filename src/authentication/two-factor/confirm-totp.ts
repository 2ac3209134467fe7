import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';

import { refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { newBackupCodes } from '../credentials/backup-codes.ts';
import { matchingStep, totpPurpose } from '../credentials/totp.ts';
import {
  activateTotp,
  consumePendingTry,
  findTotp,
  isPendingTotp,
  replaceBackupCodes,
} from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { acrOf, type Method } from '../sessions/authentication.ts';
import type { Session } from '../sessions/session.ts';
import { endOtherSessions as endOthers, recordFactors, touchDevice } from '../sessions/store.ts';
import { changeFactors, invalidFactorState, type Owner } from './change-factors.ts';

export type TotpConfirmation = {
  code: string;
  /** Whether every other session ends, with what its apps hold (decisions §10; ASVS 7.4.3 wants it offered). */
  endOtherSessions: boolean;
};
/** `deviceToken`: the secret of the browser that asks. It has shown a code of the new secret, so it stays a known one. */
type ConfirmedHere = TotpConfirmation & { deviceToken: string | undefined };

/**
 * The first code proves that the app has the secret: from now on it is asked for at every sign-in, in place of an
 * earlier one (specification §4.15). That code is used up by this. The session has shown both factors now and goes on,
 * with the cookie that it had; others that stay have not, and get nothing that takes them.
 * @returns ten backup codes, which nobody will see again.
 * @throws {RequestError} `invalid_code`; `invalid_state` when nothing waits to be confirmed: never enrolled, ten minutes
 * ago, five wrong codes ago, or in another session; `login_required` if the session has ended meanwhile.
 */
export async function confirmTotp(
  deps: RevocationDeps & Pick<Deps, 'vault'>,
  owner: Owner,
  { code, endOtherSessions, deviceToken }: ConfirmedHere,
): Promise<string[]> {
  const { session } = owner;
  const { user_id } = session;
  const at = now(deps);
  const secret_sealed = await consumePendingTry(deps.db, session, at);
  if (secret_sealed === undefined) throw await invalidFactorState(deps, session);
  const step = await matchingStep(deps.vault.open(totpPurpose(user_id), secret_sealed), code, at);
  if (step === undefined) throw refusal('invalid_code', { key: 'totp.wrong' });
  const { codes, hashes } = newBackupCodes();
  await changeFactors(deps, owner, {
    action: 'totp.confirmed',
    mail: 'totp_confirmed',
    require: isPendingTotp(user_id, secret_sealed),
    statements: [
      activateTotp({ user_id, secret_sealed, step }, at),
      ...replaceBackupCodes(user_id, hashes, at),
      recordFactors(session.session_id, withCode(session)),
      ...(deviceToken === undefined ? [] : [touchDevice(user_id, digest(deviceToken), at)]),
      ...(endOtherSessions ? signOutElsewhere(deps, owner, at) : []),
    ],
  });
  return codes;
}

/** Whether that very code has turned TOTP on: the form was sent once more, by a reload. */
export async function wasConfirmedWith(
  deps: Pick<Deps, 'db' | 'vault'>,
  { user_id }: Session,
  code: string,
): Promise<boolean> {
  const totp = await findTotp(deps.db, user_id);
  if (!totp?.secret_sealed || totp.confirmed_at === null) return false;
  const secret = deps.vault.open(totpPurpose(user_id), totp.secret_sealed);
  return (await matchingStep(secret, code, totp.confirmed_at)) !== undefined;
}

/** When the person signed in stays what it was; that they have shown a code since is true as well. */
function withCode({ amr }: Session) {
  const methods = [...new Set([...(amr as Method[]), 'otp' as const, 'mfa' as const])];
  return { amr: methods.join(' '), acr: acrOf(methods) };
}

/** Whoever else is signed in came without the second factor. What their apps hold goes with it. */
function signOutElsewhere(
  { grants }: Pick<Deps, 'grants'>,
  { session: { user_id, session_id }, address }: Owner,
  at: number,
): Sql[] {
  const { statement } = auditEvent(
    {
      action: 'session.ended_others',
      actor: `user:${user_id}`,
      target: user_id,
      reason: 'totp_confirmed',
      after: { kept_session_id: session_id },
      address,
    },
    at,
  );
  return [
    endOthers(user_id, session_id, 'sign_out', at),
    ...grants.revokeOfOtherSessions(user_id, session_id, 'sign_out', at),
    statement,
  ];
}
