import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import type { MessageKey } from '../i18n/translate.ts';
import { type Locale, translatePlain } from '../i18n/translate.ts';
import { lockUser } from '../users/store.ts';
import { qrCode } from './qr-code.ts';
import { findTotp, setPendingTotp } from './store.ts';
import { newTotpSecret, otpauthUri, totpPurpose } from './totp.ts';
import { pendingSecret } from './two-factor-state.ts';

/** Specification §4.14. `qr_svg` is an `svg` element that shows `otpauth_uri`. */
export type Enrollment = { otpauth_uri: string; secret_base32: string; qr_svg: string };

type Owner = { user_id: string; email: string; locale: Locale | null };

const qrTitle: MessageKey = 'totp.qr';

/** A fresh secret that waits ten minutes for its first code. One in force stays in force until then. */
export async function enrollTotp(deps: Deps, owner: Owner): Promise<Enrollment> {
  const secret_base32 = await newTotpSecret();
  const { user_id } = owner;
  const sealed = deps.vault.seal(totpPurpose(user_id), secret_base32);
  await deps.db.batch([lockUser(user_id), setPendingTotp(user_id, sealed, now(deps))]);
  return show(deps, owner, secret_base32);
}

/** The same once more, for a page that is looked at again. Undefined when nothing waits. */
export async function pendingEnrollment(deps: Deps, owner: Owner): Promise<Enrollment | undefined> {
  const sealed = pendingSecret(await findTotp(deps.db, owner.user_id), now(deps));
  return sealed === undefined ? undefined : show(deps, owner, deps.vault.open(totpPurpose(owner.user_id), sealed));
}

async function show(deps: Deps, { email, locale }: Owner, secret_base32: string): Promise<Enrollment> {
  const otpauth_uri = await otpauthUri(deps, { email, secret_base32 });
  const qr = await qrCode(otpauth_uri, translatePlain(locale ?? 'en', { key: qrTitle }));
  return { otpauth_uri, secret_base32, qr_svg: qr.toString() };
}
