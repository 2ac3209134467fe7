import { lockUser } from '../../accounts/store.ts';
import type { Db } from '../../platform/db/db.ts';
import { oneOf, raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import type { ProviderConfig } from './providers.ts';

/** What other rooms read of a user's sign-in methods, and the statements that they put into changes of their own. */
export { deleteIdentitiesOfUser, listIdentities } from './identities.store.ts';
export { deletePasskeysOfUser, listPasskeys } from './passkeys.store.ts';
export { passwordOf } from './passwords.store.ts';
export { countBackupCodes, deleteBackupCodes, deletePendingTotp, deleteTotp, findTotp } from './two-factor.store.ts';

/**
 * For the `lock` of a change that removes a way to sign in: of two such changes each would otherwise count the one that
 * the other removes, and the user could no longer sign in.
 */
export const lockSignInMethods = (user_id: UserId): Sql => lockUser(user_id);

/**
 * The user has at least two ways to sign in: password, passkeys, identities of issuers that are still configured. A
 * requirement of a change that removes one of them.
 */
export function hasAnotherSignInMethod({ providers }: Pick<ProviderConfig, 'providers'>, user_id: UserId): Sql {
  const issuers = [...new Set(providers.map(({ issuer }) => issuer))];
  const count = (table: string, condition = sql`1 = 1`) =>
    sql`(select count(*) from ${raw(table)} w where w.user_id = ${user_id} and ${condition})`;
  return sql`${count('passwords')} + ${count('passkeys')} + ${count('identities', sql`w.issuer in ${oneOf(issuers)}`)} > 1`;
}

/** Whether one of the ways to sign in may be removed, for a page that offers it. The change itself asks again. */
export const canRemoveSignInMethod = (
  { db, config }: { db: Db; config: ProviderConfig },
  user_id: UserId,
): Promise<boolean> => db.holds(hasAnotherSignInMethod(config, user_id));
