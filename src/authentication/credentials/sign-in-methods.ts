import type { Db } from '../../platform/db/db.ts';
import { raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import type { UserId } from '../../platform/ids.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import type { Deps } from '../deps.ts';
import { type Identity, listIdentities } from './identities.store.ts';
import { listPasskeys } from './passkeys.store.ts';
import { passwordOf } from './passwords.store.ts';
import { signsIn } from './providers.store.ts';
import type { Provider, ProviderSettings } from './providers.ts';
import { countBackupCodes, findTotp } from './two-factor.store.ts';
import { canHavePasskeys } from './webauthn.ts';

/**
 * The user has at least two sign-in methods: password, passkeys, identities of issuers that are still configured. A
 * requirement of a change that removes one of them.
 */
export function hasAnotherSignInMethod(config: ProviderSettings, user_id: UserId): Sql {
  const count = (table: string, condition = sql`1 = 1`) =>
    sql`(select count(*) from ${raw(table)} w where w.user_id = ${user_id} and ${condition})`;
  return sql`${count('passwords')} + ${count('passkeys')} + ${count('identities', signsIn(config, sql`w.issuer`))} > 1`;
}

/** Whether a sign-in method can be removed, for a page that offers it. The change itself checks again. */
export const canRemoveSignInMethod = (
  { db, config }: { db: Db; config: ProviderSettings },
  user_id: UserId,
): Promise<boolean> => db.of(user_id).holds(hasAnotherSignInMethod(config, user_id));

/** The sign-in methods that a form offers. */
export type ConfirmationMethods = {
  providers: readonly Provider[];
  offersPasskey: boolean;
  /** False at confirmation for a user without a password, or with one that would not suffice. */
  offersPassword: boolean;
  /** The factor that confirmation requires: a code after the first step, or a passkey alone. */
  secondFactor?: 'totp' | 'passkey';
};

/** At sign-in, where the user is not known yet. */
export const allConfirmationMethods = async ({
  config,
  providers,
}: Pick<Deps, 'config' | 'providers'>): Promise<ConfirmationMethods> => ({
  providers: (await providers.read()).all,
  offersPasskey: canHavePasskeys(config),
  offersPassword: true,
});

/**
 * The methods that lead to a session confirmed with the user's strongest kind of factor. With TOTP that is any of them,
 * since its code is the second step; without TOTP only a passkey counts as two factors, and after any other method the
 * page would ask again.
 */
export async function confirmationMethodsOf(
  { db, providers: register }: Pick<Deps, 'db' | 'providers'>,
  user_id: string,
): Promise<ConfirmationMethods> {
  const [configured, password, passkeys, identities, totp] = await Promise.all([
    register.read(),
    passwordOf(db, user_id),
    listPasskeys(db, user_id),
    listIdentities(db, user_id),
    findTotp(db, user_id),
  ]);
  const secondFactor = totp?.confirmed_at != null ? 'totp' : passkeys.length > 0 ? 'passkey' : undefined;
  if (secondFactor === 'passkey') return { providers: [], offersPasskey: true, offersPassword: false, secondFactor };
  const canProveHere = password !== undefined || passkeys.length > 0;
  const providers = configured.all.filter(
    ({ issuer, omitsAuthTime }) => identities.some((one) => one.issuer === issuer) && !(canProveHere && omitsAuthTime),
  );
  const hasOther = passkeys.length > 0 || providers.length > 0;
  // Shown to a user without any method as well, for the link to a reset below it.
  const offersPassword = password !== undefined || !hasOther;
  return { providers, offersPasskey: passkeys.length > 0, offersPassword, secondFactor };
}

export type SecurityOverview = Awaited<ReturnType<typeof securityOverview>>;

/** All sign-in methods of a user. Times are Unix seconds. */
export async function securityOverview({ db, providers }: Pick<Deps, 'db' | 'providers'>, user_id: string) {
  const [configured, password, passkeys, totp, backupCodes, identities] = await Promise.all([
    providers.read(),
    passwordOf(db, user_id),
    listPasskeys(db, user_id),
    findTotp(db, user_id),
    countBackupCodes(db, user_id),
    listIdentities(db, user_id),
  ]);
  const hasProviders = configured.all.length + identities.length > 0;
  const labelOf = (identity: Identity) => configured.ofIssuer(identity.issuer)?.label ?? identity.provider;
  return {
    password_changed_at: password?.changed_at ?? null,
    passkeys: passkeys.length,
    totp_confirmed_at: totp?.confirmed_at ?? null,
    backupCodes,
    /** Labels of the linked ones; undefined if none is linked and none is configured. */
    providers: hasProviders ? identities.map(labelOf) : undefined,
  };
}

/**
 * Counts a change of the user's sign-in methods. Each writes an audit event and a mail: without a limit one account could
 * delay the mail of all. Ending sessions and resetting a password are never counted, so an attacker with a session cannot
 * use up the changes that its owner needs to end it.
 * @throws {RequestError} `rate_limited`.
 */
export function limitSecurityChanges(deps: LimitDeps, user_id: string): Promise<void> {
  const limit = deps.config.limits.securityChangesPerHour;
  return windowLimit(deps, { name: 'security-change', limit, windowSeconds: 3600 }).take(user_id);
}
