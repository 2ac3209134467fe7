import { lockUser } from '../../accounts/store.ts';
import { now } from '../../platform/clock.ts';
import type { Deps, SecretDeps } from '../../platform/deps.ts';
import { type Locale, type MessageKey, translatePlain } from '../../platform/i18n/translate.ts';
import { newTotpSecret, otpauthUri, totpPurpose } from '../credentials/totp.ts';
import { findTotp, setPendingTotp } from '../credentials/two-factor.store.ts';
import { isCurrentSession, sessionRefusal } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { qrCode } from './qr-code.ts';
import { pendingSecret } from './two-factor-state.ts';

/** Specification §4.14. `qr_svg` is an `svg` element that shows `otpauth_uri`. */
export type Enrollment = { otpauth_uri: string; secret_base32: string; qr_svg: string };

type Owner = Pick<Session, 'user_id' | 'session_id' | 'token_hash' | 'email'> & { locale: Locale | null };

const qrTitle: MessageKey = 'totp.qr';

/**
 * A fresh secret that waits ten minutes for its first code, in the same session. One in force stays in force until then.
 * @throws {RequestError} `login_required` if the session has ended meanwhile.
 */
export async function enrollTotp(deps: SecretDeps, owner: Owner): Promise<Enrollment> {
  const secret_base32 = await newTotpSecret();
  const { user_id } = owner;
  const sealed = deps.vault.seal(totpPurpose(user_id), secret_base32);
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(owner) },
    run: { pending: setPendingTotp(owner, sealed, now(deps)) },
  });
  if (!done.ok) throw await sessionRefusal(deps, owner);
  return show(deps, owner, secret_base32);
}

/** The same once more, for a page that is looked at again. Undefined when nothing waits in this session. */
export async function pendingEnrollment(deps: SecretDeps, owner: Owner): Promise<Enrollment | undefined> {
  const sealed = pendingSecret(await findTotp(deps.db, owner.user_id), owner.session_id, now(deps));
  return sealed === undefined ? undefined : show(deps, owner, deps.vault.open(totpPurpose(owner.user_id), sealed));
}

async function show(deps: Pick<Deps, 'config'>, { email, locale }: Owner, secret_base32: string): Promise<Enrollment> {
  const otpauth_uri = await otpauthUri(deps, { email, secret_base32 });
  const qr = await qrCode(otpauth_uri, translatePlain(locale ?? 'en', { key: qrTitle }));
  return { otpauth_uri, secret_base32, qr_svg: qr.toString() };
}
