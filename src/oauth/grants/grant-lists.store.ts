import type { Condition } from '../../audit/store.ts';
import type { Db } from '../../platform/db/db.ts';
import { effectiveRevocation, isRevokedInBulk } from './bulk-revocations.store.ts';
import type { Grant } from './store.ts';

/** A code that waits, or tokens that may still be refreshed or used. */
const live = `revoked_at is null and idle_expires_at > $2 and expires_at > $2 and not ${isRevokedInBulk}`;

/** What a client may see by live grants of one scope. */
type ActiveAccess = {
  client_id: string;
  scope: string;
  since: number;
  /** When tokens were last issued. */
  last_used_at: number;
};

/** One row for each client and scope, however often the person has signed in there. */
export const activeAccessOf = (db: Db, user_id: string, now: number) =>
  db.all<ActiveAccess>(
    `select client_id, scope, min(created_at) as since, max(coalesce(refreshed_at, created_at)) as last_used_at
       from grants where user_id = $1 and redeemed_at is not null and ${live}
      group by client_id, scope`,
    [user_id, now],
  );

/** There is something to disconnect: live grants, or the memory that the person has allowed them. */
export const isConnected = (user_id: string, client_id: string, now: number): Condition => ({
  sql: `(exists (select 1 from grants where user_id = $1 and client_id = $3 and redeemed_at is not null and ${live})
         or exists (select 1 from consents where user_id = $1 and client_id = $3))`,
  params: [user_id, now, client_id],
});

/** Live grants of a person, as administrators see them. */
export type ListedGrant = Pick<
  Grant,
  'grant_id' | 'client_id' | 'session_id' | 'scope' | 'created_at' | 'refreshed_at' | 'idle_expires_at' | 'expires_at'
> & { client_name: string };

/** Newest first; a code that waits to be redeemed is not one yet. */
export const activeGrantsOf = (db: Db, user_id: string, now: number, limit: number) =>
  db.all<ListedGrant>(
    `select grant_id, grants.client_id, c.name as client_name, session_id, scope, grants.created_at, refreshed_at,
            idle_expires_at, expires_at
       from grants join clients c on c.client_id = grants.client_id
      where user_id = $1 and redeemed_at is not null and ${live} and c.status <> 'deleted'
      order by grants.created_at desc, grant_id limit $3`,
    [user_id, now, limit],
  );

export type SignIn = Pick<
  Grant,
  | 'grant_id'
  | 'user_id'
  | 'scope'
  | 'created_at'
  | 'refreshed_at'
  | 'idle_expires_at'
  | 'expires_at'
  | 'revoked_at'
  | 'revoked_reason'
>;

/** Who signed in with a client lately, newest first; a code that nobody has redeemed is not a sign-in yet. */
export const signInsOfClient = (db: Db, client_id: string, limit: number) =>
  db.all<SignIn>(
    `select grant_id, user_id, scope, created_at, refreshed_at, idle_expires_at, expires_at, ${effectiveRevocation}
       from grants where client_id = $1 and redeemed_at is not null
      order by created_at desc, grant_id limit $2`,
    [client_id, limit],
  );
