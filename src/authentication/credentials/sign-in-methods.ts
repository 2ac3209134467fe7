import { lockUser } from '../../accounts/store.ts';
import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import { fromNumbered } from '../../platform/db/sql.ts';
import type { ProviderConfig } from './providers.ts';

/**
 * Puts changes of one person's ways in after one another. First in a batch that takes a way in away: each of two batches
 * that count ways would otherwise count the one that the other removes, and nobody could sign in any more.
 */
export const lockSignInMethods = (user_id: string): Statement => lockUser(user_id);

/**
 * True while the person has at least two ways to sign in: password, passkeys, identities of issuers that are still
 * configured. For the `where` of what takes one of them away.
 */
export function hasAnotherSignInMethod({ providers }: Pick<ProviderConfig, 'providers'>, user_id: string): Condition {
  const issuers = [...new Set(providers.map(({ issuer }) => issuer))];
  const places = issuers.map((_, index) => `$${index + 2}`).join(', ');
  const ofUser = (table: string) => `(select count(*) from ${table} w where w.user_id = $1`;
  const identities = issuers.length === 0 ? '' : ` + ${ofUser('identities')} and w.issuer in (${places}))`;
  return { sql: `${ofUser('passwords')}) + ${ofUser('passkeys')})${identities} > 1`, params: [user_id, ...issuers] };
}

/** Whether one of their ways in may go, for a page that offers it. The batch that takes it away asks again. */
export const canRemoveSignInMethod = (
  { db, config }: { db: Db; config: ProviderConfig },
  user_id: string,
): Promise<boolean> => db.holds(fromNumbered(hasAnotherSignInMethod(config, user_id)));

/**
 * @param removal a `delete … where …` of one way in, without `returning`, or the condition that one is there. Put
 * {@link lockSignInMethods} before it in the batch.
 * @returns the same, doing or finding nothing for the last way in.
 */
export function unlessLastSignInMethod(
  config: Pick<ProviderConfig, 'providers'>,
  user_id: string,
  { sql, params: before = [] }: Statement,
): Condition {
  const { sql: condition, params } = hasAnotherSignInMethod(config, user_id);
  const renumbered = condition.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + before.length}`);
  return { sql: `${sql} and ${renumbered}`, params: [...before, ...params] };
}
