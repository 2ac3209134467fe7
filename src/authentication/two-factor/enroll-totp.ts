import { endLinksGivenElsewhere, lockUser } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import type { SecretDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { chooseLocale, type Locale, translatePlain } from '../../platform/i18n/translate.ts';
import { digest } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import {
  activateTotp,
  consumePendingTry,
  findTotp,
  isPendingTotp,
  replaceBackupCodes,
  setPendingTotp,
} from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { acrOf } from '../sessions/authentication.ts';
import { type SignedIn, sessionRefusal } from '../sessions/session.ts';
import { endOthersStatements } from '../sessions/sessions.ts';
import { isCurrentSession, recordFactors, type Session, touchDevice } from '../sessions/store.ts';
import { newBackupCodes } from './backup-codes.ts';
import { changeFactors, invalidFactorState, pendingSecret } from './factors.ts';
import { matchingStep, newTotpSecret, otpauthUri, qrCode, totpPurpose } from './totp.ts';

/** Specification §4.14. */
export const Enrollment = Type.Object({
  otpauth_uri: Type.String({ description: 'Key URI (otpauth).' }),
  secret_base32: Type.String({ description: '160 bits.' }),
  qr_svg: Type.String({ description: 'The same URI as a QR code.' }),
});
export type Enrollment = Static<typeof Enrollment>;

type EnrollingSession = Pick<Session, 'user_id' | 'session_id' | 'token_hash' | 'email'> & { locale: Locale | null };

/**
 * Makes a secret that the same session can confirm for ten minutes. An active one stays active until then.
 * @throws {RequestError} `login_required` if the session has ended.
 */
export async function enrollTotp(deps: SecretDeps, session: EnrollingSession): Promise<Enrollment> {
  const secret_base32 = await newTotpSecret();
  const { user_id } = session;
  const sealed = deps.vault.seal(totpPurpose(user_id), secret_base32);
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session) },
    run: { pending: setPendingTotp(session, sealed, now(deps)) },
  });
  if (!done.ok) throw await sessionRefusal(deps, session);
  return enrollmentOf(deps, session, secret_base32);
}

export async function pendingEnrollment(deps: SecretDeps, session: EnrollingSession): Promise<Enrollment | undefined> {
  const { user_id, session_id } = session;
  const sealed = pendingSecret(await findTotp(deps.db, user_id), session_id, now(deps));
  return sealed === undefined ? undefined : enrollmentOf(deps, session, deps.vault.open(totpPurpose(user_id), sealed));
}

async function enrollmentOf(
  deps: Pick<SecretDeps, 'config'>,
  { email, locale }: EnrollingSession,
  secret_base32: string,
): Promise<Enrollment> {
  const otpauth_uri = await otpauthUri(deps, { email, secret_base32 });
  const qr = await qrCode(otpauth_uri, translatePlain(chooseLocale(deps.config.languages, locale), { key: 'totp.qr' }));
  return { otpauth_uri, secret_base32, qr_svg: qr.toString() };
}

/**
 * The first code proves that the app has the secret, and is used up. From now on TOTP is required at every sign-in, with
 * this secret in place of an earlier one (specification §4.15). The session has given both factors now and keeps its
 * cookie; others, if they are kept, have not, and get no codes for apps.
 * @param endOtherSessions with the grants that came from them (decisions §10; ASVS 7.4.3 wants it offered).
 * @returns ten backup codes, which are not shown again.
 * @throws {RequestError} `invalid_code`; `invalid_state` if no secret is pending in this session, for ten minutes and five
 * codes; as {@link changeFactors}.
 */
export async function confirmTotp(
  deps: RevocationDeps & Pick<Deps, 'vault'>,
  user: SignedIn,
  code: string,
  endOtherSessions: boolean,
): Promise<string[]> {
  const { session, browser } = user;
  const { user_id } = session;
  const at = now(deps);
  const secret_sealed = await consumePendingTry(deps.db, session, at);
  if (secret_sealed === undefined) throw await invalidFactorState(deps, session);
  const step = await matchingStep(deps.vault.open(totpPurpose(user_id), secret_sealed), code, at);
  if (step === undefined) throw refusal('invalid_code', { key: 'totp.wrong' });
  if (endOtherSessions) await endLinksGivenElsewhere(deps.db, user_id);
  const { codes, hashes } = newBackupCodes(deps, user_id);
  await changeFactors(deps, user, {
    action: 'totp.confirmed',
    mail: 'totp_confirmed',
    state: isPendingTotp(user_id, secret_sealed),
    factors: [
      activateTotp({ user_id, secret_sealed, step }, at),
      ...replaceBackupCodes(user_id, hashes, at),
      recordFactors(session.session_id, withCode(session)),
      // The browser has sent a code of the new secret, so it stays a known device.
      ...(browser.deviceToken === undefined ? [] : [touchDevice(user_id, digest(browser.deviceToken), at)]),
      ...(endOtherSessions
        ? Object.values(endOthersStatements(deps, user, { reason: 'totp_confirmed' }, at)).flat()
        : []),
    ],
  });
  return codes;
}

/** Whether that code has turned TOTP on: the form was sent once more, by a reload. */
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

function withCode(session: Session) {
  const amr = [...new Set([...session.amr, 'otp' as const, 'mfa' as const])];
  return { amr, acr: acrOf(amr) };
}
