import { mustChange, type Write } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askAll } from '../platform/db/parts.ts';
import { flag, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, asText, oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { rowsOfClientFitOneSlice } from '../platform/db/table-rows.ts';
import type { EventId, SecretId, UserId } from '../platform/ids.ts';
import type { ClientStatus } from './choices.ts';
import { type Client, ClientRow, type ClientSecret, SecretRow } from './client.ts';
import { ComparedRow } from './compared.store.ts';
import { insertTerms, replaceTerms } from './terms.store.ts';

/** The tables `clients`, `client_secrets` and `remembered_suspensions`. */
const ClientWithSecret = row('clients c left join client_secrets s', {
  ...ClientRow.fields,
  secret_id: nullable(id<SecretId>()),
  secret_hash: nullable(text),
  secret_created_at: nullable(integer),
  secret_expires_at: nullable(integer),
  secret_name: nullable(text),
  secret_last_four: nullable(text),
  secret_last_used_at: nullable(integer),
});

/** The client and its secrets in one read: a row for each secret, and one for a client that has none. */
export async function readClient(db: Db, client_id: string): Promise<Client | undefined> {
  const rows = await db.shared.all(
    ClientWithSecret,
    sql`select ${ClientRow.columnsOf('c')}, s.secret_id, s.secret_hash, s.created_at as secret_created_at,
               s.expires_at as secret_expires_at, s.name as secret_name, s.last_four as secret_last_four,
               s.last_used_at as secret_last_used_at
          from clients c left join client_secrets s on s.client_id = c.client_id
         where c.client_id = ${client_id} and c.status <> 'deleted' order by s.created_at, s.secret_id`,
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const { secret_id: _, secret_hash: __, secret_created_at: ___, secret_expires_at: ____, ...rest } = first;
  const { secret_name: _____, secret_last_four: ______, secret_last_used_at: _______, ...client } = rest;
  return { ...client, secrets: rows.flatMap(secretOf) };
}

function secretOf(one: RowOf<typeof ClientWithSecret>): ClientSecret[] {
  const { secret_id, secret_hash, secret_created_at: created_at } = one;
  if (secret_id === null || secret_hash === null || created_at === null) return [];
  const { secret_expires_at: expires_at, secret_name: name, secret_last_four, secret_last_used_at } = one;
  const use = { last_four: secret_last_four, last_used_at: secret_last_used_at };
  return [{ secret_id, secret_hash, created_at, expires_at, name, ...use }];
}

/** @param unlessSince changes nothing if a later use is kept. */
export const noteSecretUse = (secret_id: string, at: number, unlessSince: number): Sql =>
  sql`update client_secrets set last_used_at = ${at}
       where secret_id = ${secret_id} and (last_used_at is null or last_used_at <= ${unlessSince})`;

/** Lists are not used to authenticate clients. */
export const withoutSecrets = (client: RowOf<typeof ClientRow>): Client => ({ ...client, secrets: [] });

const ClientName = ClientRow.pick('client_id', 'name');

/** Clients that are not deleted. */
export const namesOfClients = (db: Db, client_ids: readonly string[]) =>
  db.shared.all(
    ClientName,
    sql`select ${ClientName.columns} from clients where client_id in ${oneOf(client_ids)} and status <> 'deleted'`,
  );

/** A user's clients in every status, oldest first. */
export async function listOwnClients({ db }: { db: Db }, owner_user_id: string): Promise<Client[]> {
  const rows = await db.shared.all(
    ClientRow,
    sql`select ${ClientRow.columns} from clients
         where owner_user_id = ${owner_user_id} and status <> 'deleted' order by created_at, client_id`,
  );
  return rows.map(withoutSecrets);
}

/** As `hasPendingChange` in client.ts. Found by the index of pending changes: those of the status would read every approved client. */
export const withPendingChange = sql`(coalesce(c.status, '') = 'approved' and c.pending_change is not null)`;

/** Pending review, and in the queue: one that came by itself is there only once a user has asked for it, so that an attacker cannot fill the queue. */
export const inQueue = sql`(c.status = 'pending_review' and (c.origin is null or c.review_asked_at is not null))`;

/** New clients, and approved ones with a pending change: as many as wait, up to a maximum. */
export async function countWaiting({ db }: { db: Db }, atMost: number): Promise<number> {
  const counted = await db.shared.get(
    row('clients', { waiting: integer }),
    sql`select count(*) as waiting from (
          select * from (select 1 as one from clients c where ${inQueue} limit ${atMost}) as fresh
          union all
          select * from (select 1 as one from clients c where ${withPendingChange} limit ${atMost}) as changed
          limit ${atMost}) as listed`,
  );
  return counted?.waiting ?? 0;
}

export const hasApprovedClient = (db: Db): Promise<boolean> =>
  db.shared.holds(sql`exists (select 1 from clients where status = 'approved')`);

/** More than are ever reviewed. */
const mostNeedingReview = 10_000;

/** New clients, and approved ones with a pending change; of each, {@link mostNeedingReview} are counted. */
export async function countNeedingReview({ db }: { db: Db }): Promise<{ pending: number; changes: number }> {
  const counted = (condition: Sql) =>
    sql`(select count(*) from (select 1 as one from clients c where ${condition} limit ${mostNeedingReview}) as few)`;
  const counts = await db.shared.get(
    row('clients', { pending: integer, changes: integer }),
    sql`select ${counted(inQueue)} as pending, ${counted(withPendingChange)} as changes`,
  );
  return { pending: counts?.pending ?? 0, changes: counts?.changes ?? 0 };
}

/** For a client that is about to be deleted; nothing unless it is suspended. */
const recordSuspension = (client_id: string, now: number): Sql =>
  sql`insert into remembered_suspensions (client_id, owner_user_id, name, redirect_uris, deleted_at)
      select client_id, owner_user_id, name, redirect_uris, ${asBigint(now)}
        from clients where client_id = ${client_id} and status = 'suspended'`;

/** Whether a user has fewer than `max` clients in review. The change has a lock. Always true without an owner. */
const hasRoomInReview = (owner_user_id: Sql, max: number): Sql =>
  sql`(select count(*) from clients other
        where other.owner_user_id = ${owner_user_id} and other.status = 'pending_review') < ${asBigint(max)}`;

const StoredClient = row('clients', { ...ClientRow.fields, terms_of: text });
const StoredDraft = row('clients', { ...StoredClient.fields, client_id: text, status: text });

/** Changes nothing when the owner already has `maxPending` clients in review. */
export const insertClient = (client: Client, maxPending: number): Sql =>
  sql`insert into clients ${StoredClient.select({ ...client, terms_of: client.name })}
       where ${hasRoomInReview(asText(client.owner_user_id), maxPending)}`;

/** As one that is deleted, which no read returns, and which a job takes away, until {@link admitClient} has let it in. */
export const insertDraft = (client: Client): Sql =>
  sql`insert into clients ${StoredDraft.values({ ...client, status: 'deleted', terms_of: client.name })}`;

/** Changes nothing when the owner already has `maxPending` clients in review, or has been deleted since. */
export const admitClient = ({ client_id, owner_user_id, status }: Client, maxPending: number): Sql =>
  sql`update clients set status = ${status}
       where client_id = ${client_id} and status = 'deleted' and owner_user_id = ${owner_user_id}
         and ${hasRoomInReview(asText(owner_user_id), maxPending)}`;

/** Leaves nothing. Of two changes that begin with it the second waits until the first has ended, whether or not the owner has a client. */
export const lockClientsOf = (owner_user_id: UserId, like: Client): readonly Sql[] => {
  const client_id = `of:${owner_user_id}`;
  return [
    sql`insert into clients ${StoredDraft.values({ ...like, client_id, status: 'deleted', terms_of: like.name })}`,
    sql`delete from clients where status = 'deleted' and client_id = ${client_id}`,
  ];
};

/** Of a client that came by itself; nothing when `max` of them wait for a review, unless it is approved in advance. */
export const insertClientFromOutside = (client: Client, max: number): Sql =>
  sql`insert into clients ${StoredClient.select({ ...client, terms_of: client.name })}
       where ${asText(client.status)} = 'approved'
          or (select count(*) from clients where status = 'pending_review' and origin is not null) < ${asBigint(max)}`;

/** Whether one that came by itself was neither reviewed nor asked for since a moment. */
const isForgotten = (before: number): Sql =>
  sql`status = 'pending_review' and origin is not null and created_at < ${asBigint(before)}
      and coalesce(review_asked_at, 0) < ${asBigint(before)}`;

export async function unreviewedClients(db: Db, before: number, rows: number): Promise<Client[]> {
  const found = await db.shared.all(
    ClientRow,
    sql`select ${ClientRow.columns} from clients where ${isForgotten(before)} order by created_at, client_id limit ${rows}`,
  );
  return found.map(withoutSecrets);
}

/** `gone` changes nothing if it was decided, or asked for, meanwhile. Nothing depends on it: it was never approved. */
export const deleteUnreviewedClient = (client_id: string, event_id: EventId, before: number) => ({
  gone: sql`update clients set event_id = ${event_id} where client_id = ${client_id} and ${isForgotten(before)}`,
  deletion: sql`delete from clients where client_id = ${client_id} and event_id = ${event_id}`,
});

export const insertSecret = (secret: ClientSecret & { client_id: string }): Sql =>
  sql`insert into client_secrets ${SecretRow.values(secret)}`;

export const expireSecret = (secret_id: string, client_id: string, expires_at: number): Sql =>
  sql`update client_secrets set expires_at = ${expires_at} where secret_id = ${secret_id} and client_id = ${client_id}`;

export const deleteExpiredSecrets = (client_id: string, endedBy: number): Sql =>
  sql`delete from client_secrets where client_id = ${client_id} and expires_at <= ${endedBy}`;

/**
 * Compare-and-swap: writes `client` over the state that `seen` was read from, or changes nothing.
 * @param maxPending for a change that submits it for review: changes nothing when its owner already has so many in review.
 */
export function updateClient(client: Client, seen: Client, maxPending?: number): Sql {
  const { client_id, owner_user_id: _, is_first_party: __, client_type: ___, created_at: ____, ...rest } = client;
  const { origin: _____, ...fields } = rest;
  const isAllowed =
    maxPending === undefined
      ? sql``
      : sql`and (status = 'pending_review' or ${hasRoomInReview(sql`clients.owner_user_id`, maxPending)})`;
  const renamed = client.name === seen.name ? sql`` : sql`, terms_of = ${client.name}`;
  return sql`update clients set ${ClientRow.set(fields)} ${renamed}
              where client_id = ${client_id} and event_id = ${seen.event_id} ${isAllowed}`;
}

/** Only the status is compared, so that a concurrent edit is kept. */
export const setClientStatus = (
  client_id: string,
  from: ClientStatus,
  to: Pick<Client, 'status' | 'status_reason' | 'event_id' | 'updated_at'>,
): Sql => sql`update clients set ${ClientRow.set(to)} where client_id = ${client_id} and status = ${from}`;

/** Of two changes of its status or grants one is made after the other. */
export const lockClient = (client_id: string): Sql =>
  sql`update clients set updated_at = updated_at where client_id = ${client_id}`;

/** A bulk revocation covers the grants of earlier epochs. */
export const raiseGrantsEpochOfClient = (client_id: string): Sql =>
  sql`update clients set grants_epoch = grants_epoch + 1 where client_id = ${client_id}`;

/** A condition: logout tokens for this client are still to be enqueued or sent (decision 24). */
const awaitsLogouts = (client_id: Sql | string): Sql => sql`(
    exists (select 1 from grant_endings e where e.client_id = ${client_id} and e.user_id is null)
    or exists (select 1 from logout_deliveries d where d.client_id = ${client_id} and d.next_attempt_at is not null))`;

/**
 * Its secrets, grants and consents are no more than one statement may delete with its row, and there is nothing of which it is, or will be,
 * notified.
 */
export async function isDeletableAtOnce(db: Db, client_id: string): Promise<boolean> {
  const isNotified = sql`exists (
          select 1 from clients where client_id = ${client_id} and backchannel_logout_uri is not null
             and (${awaitsLogouts(client_id)} or exists (select 1 from grants g where g.client_id = ${client_id})))`;
  const conditions = [...rowsOfClientFitOneSlice(client_id), sql`not ${isNotified}`];
  const answers = await askAll(db, (part) => Promise.all(conditions.map((one) => part.holds(one))));
  return answers.flat().every(Boolean);
}

/**
 * Its secrets, grants and consents go with it, if {@link isDeletableAtOnce} has said so. Else the row stays as `deleted`, a status that no read returns, until a job has deleted its dependent
 * rows. `client` refuses when the client is deleted already or has the status `unless`, and changes nothing that is seen; `gone` refuses when another
 * has deleted it in between.
 */
export const deleteClient = (
  client_id: string,
  { event_id, unless, isAtOnce, now }: { event_id: EventId; unless?: ClientStatus; isAtOnce: boolean; now: number },
): { client: Write<never, true>; suspension: Sql; gone: Write<never, true> } => ({
  // The new event lets a concurrent compare-and-swap fail.
  client: mustChange(
    sql`update clients set event_id = ${event_id}
         where client_id = ${client_id} and status <> 'deleted' ${unless ? sql`and status <> ${unless}` : sql``}`,
  ),
  suspension: recordSuspension(client_id, now),
  gone: mustChange(
    isAtOnce
      ? sql`delete from clients where client_id = ${client_id}`
      : sql`update clients set status = 'deleted', owner_user_id = null, updated_at = ${now}
             where client_id = ${client_id} and status <> 'deleted'`,
  ),
});

/** Clients stay when the account of their owner is deleted, without an owner. */
export const orphanClientsOf = (owner_user_id: string): Sql =>
  sql`update clients set owner_user_id = null where owner_user_id = ${owner_user_id}`;

/** In the order of their ids. */
export const clientsAfter = (db: Db, after: string, rows: number) =>
  db.shared.all(
    ClientRow.pick('client_id'),
    sql`select client_id from clients where client_id > ${after} order by client_id limit ${rows}`,
  );

const ofClient = sql`clients.client_id`;
/** In a store of several parts a deletion may have been cut off before its grants were ended. */
const hasGrants = sql`exists (select 1 from grants g where g.client_id = clients.client_id and g.revoked_at is null)`;

/** Clients whose dependent rows are to be deleted now: in no part is there one that waits for a notification. */
export async function deletedClients(db: Db) {
  const isNotified =
    db.parts.length === 1 ? awaitsLogouts(ofClient) : sql`(${awaitsLogouts(ofClient)} or ${hasGrants})`;
  const [first = [], ...others] = await askAll(db, (part) =>
    part.all(
      ClientRow.pick('client_id'),
      sql`select client_id from clients where status = 'deleted' and not (backchannel_logout_uri is not null and ${isNotified})
           order by created_at limit 1000`,
    ),
  );
  const inOthers = others.map((some) => new Set(some.map(({ client_id }) => client_id)));
  return first.filter(({ client_id }) => inOthers.every((some) => some.has(client_id)));
}

/** The row itself, with what another node has left. Ask {@link isDeletableAtOnce} before. */
export const deleteDeletedClient = (db: Db, client_id: string) =>
  db.shared.run(sql`delete from clients where client_id = ${client_id} and status = 'deleted'`);

/** In the words of the partial index. */
const termsAreMissing = sql`terms_of is distinct from name`;

/** Whether some clients cannot be found by their name yet. */
export const someTermsAreMissing = (db: Db): Promise<boolean> =>
  db.shared.holds(sql`exists (select 1 from clients where ${termsAreMissing})`);

export const clientsWithMissingTerms = (db: Db, rows: number) =>
  db.shared.all(
    ClientRow.pick('client_id', 'name'),
    sql`select client_id, name from clients where ${termsAreMissing} order by client_id limit ${rows}`,
  );

/** Changes nothing if the client has been renamed since it was read. */
export const completeTerms = (db: Db, { client_id, name }: Pick<Client, 'client_id' | 'name'>) =>
  db.shared.change({
    run: {
      client: mustChange(
        sql`update clients set terms_of = name where client_id = ${client_id} and name = ${name} and ${termsAreMissing}`,
      ),
      terms: replaceTerms(client_id, name),
    },
  });

const { event_id: _, ...exportedFields } = ClientRow.fields;
const { client_id: __, ...secretFields } = SecretRow.fields;

export const exportedClients = exportedTable('clients', {
  row: row('clients', {
    ...exportedFields,
    status_in_access_token: nullable(flag), // files of earlier versions have none
  }),
  where: sql`status <> 'deleted'`,
  lists: { secrets: { table: 'client_secrets', row: row('client_secrets', secretFields) } },
  follows: {
    columns: { event_id: text, terms_of: text, status_in_access_token: flag },
    values: ({ name, status_in_access_token }, { event_id }) => ({
      event_id,
      terms_of: name,
      status_in_access_token: status_in_access_token ?? false,
    }),
  },
  beside: ({ client_id, name }) => insertTerms(client_id, name),
});

/** For the review of others: clients that were suspended when they were deleted. */
export const exportedSuspensions = exportedTable('remembered_suspensions', {
  row: row('remembered_suspensions', {
    ...ComparedRow.pick('client_id', 'owner_user_id', 'name', 'redirect_uris').fields,
    deleted_at: integer,
  }),
});
