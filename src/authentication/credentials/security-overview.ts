import type { Deps } from '../deps.ts';
import { type Identity, listIdentities } from './identities.store.ts';
import { listPasskeys } from './passkeys.store.ts';
import { passwordOf } from './passwords.store.ts';
import { countBackupCodes, findTotp } from './two-factor.store.ts';

/** All the ways in which a person proves who they are, and since when. Times are Unix seconds. */
export type SecurityOverview = {
  password_changed_at: number | null;
  passkeys: number;
  totp_confirmed_at: number | null;
  backupCodes: { total: number; remaining: number };
  /** What is linked, by its label; undefined where nothing is and nothing can be. */
  providers: readonly string[] | undefined;
};

export async function securityOverview(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  user_id: string,
): Promise<SecurityOverview> {
  const [password, passkeys, totp, backupCodes, identities] = await Promise.all([
    passwordOf(db, user_id),
    listPasskeys(db, user_id),
    findTotp(db, user_id),
    countBackupCodes(db, user_id),
    listIdentities(db, user_id),
  ]);
  const hasProviders = config.providers.length + identities.length > 0;
  const labelOf = (identity: Identity) =>
    config.providers.find(({ issuer }) => issuer === identity.issuer)?.label ?? identity.provider;
  return {
    password_changed_at: password?.changed_at ?? null,
    passkeys: passkeys.length,
    totp_confirmed_at: totp?.confirmed_at ?? null,
    backupCodes,
    providers: hasProviders ? identities.map(labelOf) : undefined,
  };
}
