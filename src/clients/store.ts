import type { Condition } from '../audit/store.ts';
import type { Db, Statement } from '../platform/db/db.ts';
import { atMostOneSlice } from '../platform/db/slices.ts';
import { escapeLike } from '../platform/db/sql.ts';
import { emailKey } from '../platform/email-address.ts';
import type { Client, ClientSecret, ClientStatus } from './client.ts';

/** The tables `clients`, `client_secrets` and `remembered_suspensions`. Lists are JSON texts. */

type ClientRow = Omit<Client, 'is_first_party' | 'redirect_uris' | 'allowed_scopes' | 'pending_change' | 'secrets'> & {
  is_first_party: number;
  redirect_uris: string;
  allowed_scopes: string;
  pending_change: string | null;
};
type ClientWithSecretRow = ClientRow & {
  secret_id: string | null;
  secret_hash: string;
  secret_created_at: number;
  secret_expires_at: number | null;
};

const columns = `c.client_id, c.owner_user_id, c.is_first_party, c.name, c.client_type, c.redirect_uris, c.allowed_scopes, c.logo_url,
  c.homepage_url, c.id_token_signed_response_alg, c.refresh_retry_window, c.consent, c.status, c.status_reason,
  c.revision, c.pending_change, c.event_id, c.created_at, c.updated_at`;

const toClient = (row: ClientRow, secrets: readonly ClientSecret[]): Client => ({
  client_id: row.client_id,
  owner_user_id: row.owner_user_id,
  is_first_party: row.is_first_party === 1,
  name: row.name,
  client_type: row.client_type,
  redirect_uris: JSON.parse(row.redirect_uris),
  allowed_scopes: JSON.parse(row.allowed_scopes),
  logo_url: row.logo_url,
  homepage_url: row.homepage_url,
  id_token_signed_response_alg: row.id_token_signed_response_alg,
  refresh_retry_window: row.refresh_retry_window,
  consent: row.consent,
  status: row.status,
  status_reason: row.status_reason,
  revision: row.revision,
  pending_change: row.pending_change === null ? null : JSON.parse(row.pending_change),
  event_id: row.event_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
  secrets,
});

/** The client and its secrets in one read: a row for each secret, and one for a client that has none. */
export async function readClient(db: Db, client_id: string): Promise<Client | undefined> {
  const rows = await db.all<ClientWithSecretRow>(
    `select ${columns}, s.secret_id, s.secret_hash, s.created_at as secret_created_at,
            s.expires_at as secret_expires_at
       from clients c left join client_secrets s on s.client_id = c.client_id
      where c.client_id = $1 and c.status <> 'deleted' order by s.created_at, s.secret_id`,
    [client_id],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const secrets = rows.flatMap(({ secret_id, secret_hash, secret_created_at, secret_expires_at }) =>
    secret_id === null
      ? []
      : [{ secret_id, secret_hash, created_at: secret_created_at, expires_at: secret_expires_at }],
  );
  return toClient(first, secrets);
}

/** A list is for reading about clients, not for authenticating them, so its clients come without secrets. */
export async function readClientsOfOwner(db: Db, owner_user_id: string): Promise<Client[]> {
  const rows = await db.all<ClientRow>(
    `select ${columns} from clients c where c.owner_user_id = $1 order by c.created_at, c.client_id`,
    [owner_user_id],
  );
  return rows.map((row) => toClient(row, []));
}

/** What an administrator looks through: one state, or what waits for a review, new clients and changes alike. */
export type ClientListing = ClientStatus | 'all' | 'waiting' | 'pending_change';

export type ClientSearch = {
  listing: ClientListing;
  /** A part of the name, a part of the owner's name or e-mail address, or an id of either; empty for all. */
  query: string;
  /** Where the page before ended. */
  after: { created_at: number; client_id: string } | undefined;
  limit: number;
};

/** As `needsReview` says: an edit of a suspended client is nothing to decide until the client is reinstated. */
const hasPendingChange = `(c.status = 'approved' and c.pending_change is not null)`;
const waits = `(c.status = 'pending_review' or ${hasPendingChange})`;

function conditionOf(listing: ClientListing): string {
  if (listing === 'all') return 'true';
  if (listing === 'waiting') return waits;
  return listing === 'pending_change' ? hasPendingChange : 'c.status = $8';
}

/** Oldest first, a page at a time. Letters beyond ASCII are found in the case in which they were written. */
export async function searchClients(db: Db, { listing, query, after, limit }: ClientSearch): Promise<Client[]> {
  const inListing = conditionOf(listing);
  const rows = await db.all<ClientRow>(
    `select ${columns} from clients c
      where ($1 = '' or c.client_id = $1 or c.owner_user_id = $1 or lower(c.name) like $2 escape '!'
             or c.name like $3 escape '!'
             or exists (select 1 from users u
                         where u.user_id = c.owner_user_id
                           and (u.email_key like $7 escape '!' or lower(u.name) like $2 escape '!'
                                or u.name like $3 escape '!')))
        and c.status <> 'deleted' and (c.created_at, c.client_id) > (cast($4 as bigint), $5) and ${inListing}
      order by c.created_at, c.client_id limit $6`,
    [
      query,
      `%${escapeLike(query.toLowerCase())}%`,
      `%${escapeLike(query)}%`,
      after?.created_at ?? -1,
      after?.client_id ?? '',
      limit,
      `%${escapeLike(emailKey(query))}%`,
      ...(inListing === 'c.status = $8' ? [listing] : []),
    ],
  );
  return rows.map((row) => toClient(row, []));
}

/** How many wait for a review: new clients, and changes of approved ones. */
export async function countClientsNeedingReview(db: Db): Promise<{ pending: number; changes: number }> {
  const row = await db.get<{ pending: number; changes: number }>(
    `select count(case when c.status = 'pending_review' then 1 end) as pending,
            count(case when c.status <> 'pending_review' then 1 end) as changes
       from clients c where ${waits}`,
  );
  return { pending: Number(row?.pending ?? 0), changes: Number(row?.changes ?? 0) };
}

/** What a client under review is compared with, as it is stored. `version` is another one whenever the rest may be. */
export type ComparedRow = Pick<Client, 'client_id' | 'owner_user_id' | 'name'> & {
  redirect_uris: string;
  version: string;
};

/** The names and redirect URIs of clients in one state, the longest there first. */
export const readComparedClients = (db: Db, status: ClientStatus, limit: number) =>
  db.all<ComparedRow>(
    `select client_id, owner_user_id, name, redirect_uris, event_id as version from clients where status = $1
      order by created_at, client_id limit $2`,
    [status, limit],
  );

/** Clients that were suspended when they were deleted, the last ones first. */
export const readRememberedSuspensions = (db: Db, limit: number) =>
  db.all<ComparedRow>(
    `select client_id, owner_user_id, name, redirect_uris, 'deleted' as version from remembered_suspensions
      order by deleted_at desc, client_id limit $1`,
    [limit],
  );

/** For a client that is about to be deleted, by the event that it carries; nothing unless it is suspended. */
export const recordSuspension = (client_id: string, event_id: string, now: number): Statement => ({
  sql: `insert into remembered_suspensions (client_id, owner_user_id, name, redirect_uris, deleted_at)
        select client_id, owner_user_id, name, redirect_uris, cast($3 as bigint)
          from clients where client_id = $1 and event_id = $2 and status = 'suspended'`,
  params: [client_id, event_id, now],
});

export const purgeRememberedSuspensions = (db: Db, before: number, rows: number) =>
  db.run(
    `delete from remembered_suspensions where client_id in
       (select client_id from remembered_suspensions where deleted_at < $1 order by deleted_at limit $2)`,
    [before, rows],
  );

const allColumns = (client: Client) => [
  client.client_id,
  client.name,
  JSON.stringify(client.redirect_uris),
  JSON.stringify(client.allowed_scopes),
  client.logo_url,
  client.homepage_url,
  client.id_token_signed_response_alg,
  client.refresh_retry_window,
  client.consent,
  client.status,
  client.status_reason,
  client.revision,
  client.pending_change === null ? null : JSON.stringify(client.pending_change),
  client.event_id,
  client.updated_at,
];

/** How many clients of a person wait for review, in the SQL of a batch that has locked the person. Nobody's do not count. */
const countPending = (owner_user_id: string) =>
  `(select count(*) from clients other
     where other.owner_user_id = ${owner_user_id} and other.status = 'pending_review')`;

/** Changes nothing when the owner already has `maxPending` clients waiting for review. */
export const insertClient = (client: Client, maxPending: number): Statement => ({
  sql: `insert into clients
      (client_id, name, redirect_uris, allowed_scopes, logo_url, homepage_url, id_token_signed_response_alg,
       refresh_retry_window, consent, status, status_reason, revision, pending_change, event_id, updated_at,
       owner_user_id, client_type, created_at, is_first_party)
    select $1, $2, $3, $4, $5, $6, $7, cast($8 as bigint), $9, $10, $11, cast($12 as bigint), $13, $14,
           cast($15 as bigint), $16, $17, cast($18 as bigint), cast($20 as bigint)
     where ${countPending('$16')} < cast($19 as bigint)`,
  params: [
    ...allColumns(client),
    client.owner_user_id,
    client.client_type,
    client.created_at,
    maxPending,
    client.is_first_party ? 1 : 0,
  ],
});

/** For the client that `event_id` made or changed; if it did not, there is nothing to keep a secret for. */
export const insertSecret = (secret: ClientSecret & { client_id: string }, event_id: string): Statement => ({
  sql: `insert into client_secrets (secret_id, client_id, secret_hash, created_at, expires_at)
    select $1, client_id, $3, cast($4 as bigint), cast($5 as bigint)
      from clients where client_id = $2 and event_id = $6`,
  params: [secret.secret_id, secret.client_id, secret.secret_hash, secret.created_at, secret.expires_at, event_id],
});

/** From `expires_at` on it authenticates nobody. Only for a client that this event has just changed. */
export const expireSecret = (
  secret: { secret_id: string; client_id: string; expires_at: number },
  event_id: string,
): Statement => ({
  sql: `update client_secrets set expires_at = $3
         where secret_id = $1 and client_id = $2
           and exists (select 1 from clients where client_id = $2 and event_id = $4)`,
  params: [secret.secret_id, secret.client_id, secret.expires_at, event_id],
});

/** What has ended is not kept for ever: the list of a client's secrets stays as short as it looks. */
export const deleteExpiredSecrets = (client_id: string, endedBy: number): Statement => ({
  sql: 'delete from client_secrets where client_id = $1 and expires_at <= $2',
  params: [client_id, endedBy],
});

/** Compare-and-swap: writes `client` over the state that `seen` was read from, or changes nothing. */
export const updateClient = (client: Client, seen: { event_id: string }): Statement => ({
  sql: `update clients
       set name = $2, redirect_uris = $3, allowed_scopes = $4, logo_url = $5, homepage_url = $6,
           id_token_signed_response_alg = $7, refresh_retry_window = $8, consent = $9, status = $10,
           status_reason = $11, revision = $12, pending_change = $13, event_id = $14, updated_at = $15
     where client_id = $1 and event_id = $16`,
  params: [...allColumns(client), seen.event_id],
});

/** The same for a change after which it waits for review, unless `maxPending` others of its owner do already. */
export function submitForReview(client: Client, seen: { event_id: string; maxPending: number }): Statement {
  const { sql, params = [] } = updateClient(client, seen);
  const mayWait = `(status = 'pending_review' or ${countPending('clients.owner_user_id')} < cast($17 as bigint))`;
  return { sql: `${sql} and ${mayWait}`, params: [...params, seen.maxPending] };
}

/** Whoever holds the row is waited for; then only its state decides. */
export const setClientStatus = (
  to: Pick<Client, 'client_id' | 'status' | 'status_reason' | 'event_id' | 'updated_at'> & { from: ClientStatus },
): Statement => ({
  sql: `update clients set status = $3, status_reason = $4, event_id = $5, updated_at = $6
         where client_id = $1 and status = $2`,
  params: [to.client_id, to.from, to.status, to.status_reason, to.event_id, to.updated_at],
});

/** Lets the client carry the event, and changes nothing else. @param unless a state in which it does not. */
export const markClient = (client_id: string, event_id: string, unless: ClientStatus | null): Statement => ({
  sql: `update clients set event_id = $2
         where client_id = $1 and status <> 'deleted' and (cast($3 as text) is null or status <> $3)`,
  params: [client_id, event_id, unless],
});

/** What ends many grants of a client at once covers those of earlier epochs. */
export const raiseGrantsEpochOfClient = (client_id: string): Statement => ({
  sql: 'update clients set grants_epoch = grants_epoch + 1 where client_id = $1',
  params: [client_id],
});

/** Of which a client may have any number of rows. */
const unboundedTables = ['grants', 'consents', 'authorization_requests'];
const fitsOneSlice = unboundedTables.map((table) => atMostOneSlice(table, 'client_id')).join(' and ');

/**
 * Its secrets, grants and consents go with it, unless they are more than one statement may delete. Then the row stays for
 * a while as `deleted`, a status that nothing serves and nobody is shown, and a job deletes what hangs on it.
 */
export const deleteClient = (client_id: string, event_id: string): Statement[] => [
  {
    sql: `delete from clients where client_id = $1 and event_id = $2 and ${fitsOneSlice}`,
    params: [client_id, event_id],
  },
  {
    sql: `update clients set status = 'deleted', owner_user_id = null where client_id = $1 and event_id = $2`,
    params: [client_id, event_id],
  },
];

/** What somebody registered stays when their account is deleted, without an owner. */
export const orphanClientsOf = (owner_user_id: string): Statement => ({
  sql: 'update clients set owner_user_id = null where owner_user_id = $1',
  params: [owner_user_id],
});

/** Clients whose rows are still to be deleted. */
export const deletedClients = (db: Db) =>
  db.all<{ client_id: string }>(
    `select client_id from clients where status = 'deleted' order by created_at limit 1000`,
  );

/** The last row of one, unless another node has left more than one statement may delete. */
export const deleteDeletedClient = (db: Db, client_id: string) =>
  db.run(`delete from clients where client_id = $1 and status = 'deleted' and ${fitsOneSlice}`, [client_id]);

/** For an audit event's `onlyIf`: the client carries that event, so the change was made. */
export const clientCarries =
  (client_id: string) =>
  (event_id: string): Condition => ({
    sql: 'exists (select 1 from clients where client_id = $1 and event_id = $2)',
    params: [client_id, event_id],
  });
