import type { Db } from '../../platform/db/db.ts';
import { listIdentities } from './identities.store.ts';
import { listPasskeys } from './passkeys.store.ts';
import { passwordOf } from './passwords.store.ts';
import type { Provider, ProviderConfig } from './providers.ts';
import { findTotp } from './two-factor.store.ts';
import { canHavePasskeys } from './webauthn.ts';

/** What a form offers to sign in with. */
export type ConfirmationMethods = {
  providers: readonly Provider[];
  offersPasskey: boolean;
  /** False for a user who confirms and has no password, or for whom it would not be enough. */
  offersPassword: boolean;
  /** What a user who confirms must show: a code after the first step, or a passkey and nothing else. */
  secondFactor?: 'totp' | 'passkey';
};

/** Before somebody has said who they are, everybody may have each of them. */
export const allConfirmationMethods = ({ config }: { config: ProviderConfig }): ConfirmationMethods => ({
  providers: config.providers,
  offersPasskey: canHavePasskeys(config),
  offersPassword: true,
});

/**
 * What this person can confirm with: whatever ends in a session that has seen the strongest kind of factor that they
 * have. After any of these ways TOTP is asked for; without TOTP a passkey is the only one that is two factors, and with
 * another the page would lead back to itself.
 */
export async function confirmationMethodsOf(
  { db, config }: { db: Db; config: ProviderConfig },
  user_id: string,
): Promise<ConfirmationMethods> {
  const [password, passkeys, identities, totp] = await Promise.all([
    passwordOf(db, user_id),
    listPasskeys(db, user_id),
    listIdentities(db, user_id),
    findTotp(db, user_id),
  ]);
  const secondFactor = totp?.confirmed_at != null ? 'totp' : passkeys.length > 0 ? 'passkey' : undefined;
  if (secondFactor === 'passkey') return { providers: [], offersPasskey: true, offersPassword: false, secondFactor };
  const canProveHere = password !== undefined || passkeys.length > 0;
  const providers = config.providers.filter(
    ({ issuer, omitsAuthTime }) => identities.some((one) => one.issuer === issuer) && !(canProveHere && omitsAuthTime),
  );
  const hasOther = passkeys.length > 0 || providers.length > 0;
  // Who has nothing at all sees the field all the same: the link to a reset is under it.
  const offersPassword = password !== undefined || !hasOther;
  return { providers, offersPasskey: passkeys.length > 0, offersPassword, secondFactor };
}
