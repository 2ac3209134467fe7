import { asBigint, asText, type Sql, sql } from '../../platform/db/sql.ts';
import type { SessionId } from '../../platform/ids.ts';
import { wasRevokedInBulk } from './bulk-revocations.store.ts';
import { isOfTest } from './test-grants.store.ts';

/** Seconds. What ended with an act is dated when the act was, or a moment before. */
const sameAct = 5;

type Within = {
  /** Unix seconds of an act: access that it has ended counts. */
  at: number;
  /** Only clients that the user has given this scope. */
  scope?: string | undefined;
  /** Only clients that took part in this session. */
  session_id?: SessionId | string | undefined;
};

const has = (scope: string): Sql => sql`' ' || scope || ' ' like ${asText(`% ${scope} %`)}`;

/**
 * Ids of clients that know the user, some of them twice: by a sign-in of which there is a row and that was not revoked, or by a
 * remembered consent. A sign-in is known for a week after its tokens have expired, since an app's own session may go on.
 */
export function clientsOfUser(user_id: string, { at, scope, session_id }: Within): Sql {
  const since = asBigint(at - sameAct);
  const scoped = scope === undefined ? sql`` : sql` and ${has(scope)}`;
  const signIns = sql`select client_id from grants
         where user_id = ${asText(user_id)} and (revoked_at is null or revoked_at >= ${since}) and redeemed_at is not null
           and not ${isOfTest} and not ${wasRevokedInBulk(since)}${scoped}${
             session_id === undefined ? sql`` : sql` and session_id = ${asText(session_id)}`
           }`;
  if (session_id !== undefined) return signIns;
  return sql`${signIns} union all select client_id from consents where user_id = ${asText(user_id)}${scoped}`;
}
