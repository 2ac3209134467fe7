import { deliveryFields, deliveryQueue, isInState } from '../deliveries/queue.ts';
import { mayNow } from '../entitlements/statements.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askAll, compareText, mergeAll } from '../platform/db/parts.ts';
import { choice, id, integer, jsonObject, jsonTexts, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { inOneSlice } from '../platform/db/slices.ts';
import { asBigint, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { ClientId, CredentialId, EventId, StreamId, UserId } from '../platform/ids.ts';
import { type About, clientsOf } from './clients.store.ts';
import type { Payload } from './events.ts';
import { pauseReasons, streamStatuses } from './stream-status.ts';

/** Times are Unix seconds. */
const Stream = row('signal_streams', {
  stream_id: id<StreamId>(),
  /** Its receiver, and the audience of its tokens: a service credential, or the client. */
  credential_id: id<CredentialId | ClientId>(),
  /** Of whose users alone it is; null: of a service credential, and all users. */
  client_id: nullable(id<ClientId>()),
  description: nullable(text),
  method: choice('push', 'poll'),
  /** Null of a stream that is polled. */
  endpoint_url: nullable(text),
  events_requested: jsonTexts(),
  status: choice(...streamStatuses),
  reason: nullable(text),
  created_at: integer,
});
export type Stream = RowOf<typeof Stream>;
const StoredStream = row('signal_streams', {
  ...Stream.fields,
  /** The header that its pushes carry. */
  authorization_sealed: nullable(text),
});
export type StoredStream = RowOf<typeof StoredStream>;

const Delivery = row('signal_deliveries', {
  ...deliveryFields,
  stream_id: id<StreamId>(),
  /** Null: it is about the stream itself. */
  user_id: nullable(id<UserId>()),
  event_id: id<EventId>(),
  /** Among the signals of the event. */
  ordinal: integer,
  event_type: text,
  payload: jsonObject<Payload>(),
});
/** A signal in the queue of one stream. Its id is the `jti` of the token. */
export type Signal = RowOf<typeof Delivery>;

const DueSignal = row('signal_deliveries join signal_streams', {
  ...Delivery.fields,
  credential_id: id<CredentialId | ClientId>(),
  client_id: nullable(id<ClientId>()),
  endpoint_url: nullable(text),
  authorization_sealed: nullable(text),
});
export type DueSignal = RowOf<typeof DueSignal>;

/** Signals that wait in one part of the store for one stream. */
export const maxWaiting = 10_000;

export const insertStream = (stream: StoredStream): Sql =>
  sql`insert into signal_streams ${StoredStream.values(stream)}`;

export const findStream = (db: Db, stream_id: string) =>
  db.shared.get(
    StoredStream,
    sql`select ${StoredStream.columns} from signal_streams where stream_id = ${stream_id} and deleted_at is null`,
  );

export const streamOf = (db: Db, credential_id: string) =>
  db.shared.get(
    StoredStream,
    sql`select ${StoredStream.columns} from signal_streams where credential_id = ${credential_id} and deleted_at is null`,
  );

/** Oldest first. There is one of a service credential or client at most. */
export const listStreams = (db: Db) =>
  db.shared.all(
    Stream,
    sql`select ${Stream.columns} from signal_streams where deleted_at is null order by created_at, stream_id`,
  );

export const streamExists = (stream_id: StreamId): Sql =>
  sql`exists (select 1 from signal_streams where stream_id = ${stream_id} and deleted_at is null)`;

/** Of two changes that begin with it the second sees what the first one did. */
export const lockStream = (stream_id: StreamId): Sql =>
  sql`update signal_streams set status = status where stream_id = ${stream_id}`;

export const updateStream = (stream_id: StreamId, to: Partial<Omit<StoredStream, 'stream_id'>>): Sql =>
  sql`update signal_streams set ${StoredStream.set(to)} where stream_id = ${stream_id} and deleted_at is null`;

/** A condition: it is not paused for this reason already. @param of the stream, where another table has such columns. */
const isNotPausedFor = (reason: string, of = ''): Sql =>
  sql`(${raw(`${of}status`)} <> 'paused' or coalesce(${raw(`${of}reason`)}, '') <> ${reason})`;

/** Changes nothing unless it has that status, and is not paused for this reason already. */
export const pauseStream = ({ stream_id, status }: Pick<Stream, 'stream_id' | 'status'>, reason: string): Sql =>
  sql`update signal_streams set status = 'paused', reason = ${reason}
       where stream_id = ${stream_id} and status = ${status} and ${isNotPausedFor(reason)} and deleted_at is null`;

/** From now on it is unknown; a job deletes what waits for it. */
export const markStreamDeleted = (stream_id: StreamId, now: number): Sql =>
  sql`update signal_streams set deleted_at = ${now}, endpoint_url = null, authorization_sealed = null
       where stream_id = ${stream_id} and deleted_at is null`;

const StreamOnly = Stream.pick('stream_id');

export const deletedStreams = (db: Db) =>
  db.shared.all(
    StreamOnly,
    sql`select stream_id from signal_streams where deleted_at is not null order by stream_id limit 100`,
  );

export const deleteSignals = (part: Part, stream_id: StreamId, rows: number) =>
  part.run(
    sql`delete from signal_deliveries
         where ${inOneSlice('signal_deliveries', 'delivery_id', sql`stream_id = ${stream_id}`, rows)}`,
  );

/** What waits about users; what is about the stream itself is still sent. */
export const deleteWaiting = (part: Part, stream_id: StreamId, rows: number) => {
  const waits = sql`stream_id = ${stream_id} and next_attempt_at is not null and user_id is not null`;
  return part.run(
    sql`delete from signal_deliveries where ${inOneSlice('signal_deliveries', 'delivery_id', waits, rows)}`,
  );
};

export const deleteExclusions = (part: Part, stream_id: StreamId, rows: number) =>
  part.run(
    sql`delete from signal_exclusions
         where ${inOneSlice('signal_exclusions', 'user_id, stream_id', sql`stream_id = ${stream_id}`, rows)}`,
  );

export const deleteStreamRow = (db: Db, stream_id: StreamId) =>
  db.shared.run(sql`delete from signal_streams where stream_id = ${stream_id} and deleted_at is not null`);

/** @param most rows that a stream may have. Changes nothing for a user who is unknown. */
export const excludeUser = (stream_id: StreamId, user_id: string, most: number): Sql =>
  sql`insert into signal_exclusions (user_id, stream_id)
      select user_id, ${stream_id} from users where user_id = ${user_id}
         and (select count(*) from (select 1 as one from signal_exclusions where stream_id = ${stream_id} limit ${most}) as few) < ${most}
      on conflict (user_id, stream_id) do nothing`;

export const includeUser = (stream_id: StreamId, user_id: string): Sql =>
  sql`delete from signal_exclusions where user_id = ${user_id} and stream_id = ${stream_id}`;

export const isExcluded = (part: Part, stream_id: StreamId, user_id: string): Promise<boolean> =>
  part.holds(sql`exists (select 1 from signal_exclusions where user_id = ${user_id} and stream_id = ${stream_id})`);

/** A condition: fewer signals than that wait for the stream in this part of the store. */
export const hasRoom = (stream_id: Sql, most: number): Sql =>
  sql`(select count(*) from (select 1 as one from signal_deliveries q
         where q.stream_id = ${stream_id} and q.next_attempt_at is not null limit ${most}) as few) < ${most}`;

/** A condition on a stream `s`: its receiver may get something now. */
const mayReceive = (now: number): Sql =>
  sql`(s.client_id is null and ${mayNow(raw('s.credential_id'), 'signals:manage', now)}
       or exists (select 1 from clients a where a.client_id = s.client_id and a.status = 'approved'))`;

/** A condition on a client `c`. The ids of groups have no separator in them. */
const seesGroup = (group_id: string): Sql =>
  sql`(c.visible_groups is null or replace(c.visible_groups, ${group_id}, '') <> c.visible_groups)`;

type NewSignal = Pick<Signal, 'delivery_id' | 'event_id' | 'ordinal' | 'event_type' | 'payload'>;

/**
 * One for each stream that wants it, holds it, may have it and has room for it, once however often it is planned. Streams of clients are
 * found by what the user has with clients, of which there is little, and not by all of them.
 * @param signal `created_at`: the time of the event. When it is sealed would not order those that are sealed together, of which each
 * node numbers its own.
 */
export const planSignals = (
  signal: NewSignal & Pick<Signal, 'created_at'> & { about: About; uri: string },
  now: number,
): Sql => {
  const { user_id } = signal.about;
  const wants = wantsUri(signal.uri);
  const { scope, group_id } = signal.about;
  const isAllowed = scope === undefined ? sql`` : sql` and c.allowed_scopes like ${`%"${scope}"%`}`;
  const isSeen = group_id === undefined ? sql`` : sql` and ${seesGroup(group_id)}`;
  return sql`insert into signal_deliveries
        (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, next_attempt_at)
      select ${signal.delivery_id} || '.' || s.stream_id, s.stream_id, ${user_id}, ${signal.event_id},
             ${asBigint(signal.ordinal)}, ${signal.event_type}, ${JSON.stringify(signal.payload)}, ${asBigint(signal.created_at)}, 0, ${asBigint(now)}
        from (select s.stream_id from signal_streams s
               where s.client_id is null and ${wants} and ${mayNow(raw('s.credential_id'), 'signals:manage', now)}
              union all
              select s.stream_id from signal_streams s join clients c on c.client_id = s.client_id
               where s.client_id in (${clientsOf(signal.about)}) and ${wants} and c.status = 'approved'${isAllowed}${isSeen}) as s
       where not exists (select 1 from signal_exclusions x where x.user_id = ${user_id} and x.stream_id = s.stream_id)
         and ${hasRoom(raw('s.stream_id'), maxWaiting)}
      on conflict (stream_id, event_id, ordinal) do nothing`;
};

/** A condition on a stream `s`. What waits for one that is full is not counted again with each event, however long its receiver is away. */
export const wantsUri = (uri: string): Sql =>
  sql`s.deleted_at is null and s.status <> 'disabled' and ${isNotPausedFor(pauseReasons.full, 's.')}
      and s.events_requested like ${`%"${uri}"%`}`;

/** Of those about itself so many may wait: a receiver can ask for any number. */
export const maxOwnWaiting = 20;

/** A condition: another signal about the stream itself may wait. */
export const hasRoomForOwn = (stream_id: StreamId): Sql =>
  sql`(select count(*) from (select 1 as one from signal_deliveries where stream_id = ${stream_id} and user_id is null
         and next_attempt_at is not null limit ${maxOwnWaiting}) as few) < ${maxOwnWaiting}`;

/** About the stream itself. */
export const insertOwnSignal = (signal: Omit<NewSignal, 'ordinal'> & { stream_id: StreamId }, now: number): Sql =>
  sql`insert into signal_deliveries
      ${Delivery.values({ ...signal, ordinal: 0, created_at: now, attempts: 0, next_attempt_at: now })}`;

/** Tells the receiver of another status. Of those that wait for it, the newest stay: who never polls does not pile them up. */
export const noticesOf = (notice: Parameters<typeof insertOwnSignal>[0], now: number): Sql[] => [
  insertOwnSignal(notice, now),
  sql`delete from signal_deliveries where delivery_id in (
        select delivery_id from signal_deliveries
         where stream_id = ${notice.stream_id} and user_id is null and next_attempt_at is not null and event_type = ${notice.event_type}
         order by created_at desc, event_id desc limit ${maxOwnWaiting} offset ${maxOwnWaiting})`,
];

/** In the order in which they are sent. */
const inTurn = (table: string): Sql =>
  raw(['created_at', 'event_id', 'ordinal'].map((one) => `${table}.${one}`).join(', '));

const isPushed = sql`s.method = 'push' and s.deleted_at is null`;

/** Streams that are pushed to, with a signal that is due, in the order of their ids. One that is not enabled gets those about itself. */
export async function dueStreams(part: Part, now: number, after: string, limit: number): Promise<StreamId[]> {
  const due = sql`select 1 from signal_deliveries d where d.stream_id = s.stream_id and d.next_attempt_at <= ${now}`;
  const found = await part.all(
    StreamOnly,
    sql`select s.stream_id from signal_streams s
         where s.stream_id > ${after} and ${isPushed} and ${mayReceive(now)}
           and ((s.status = 'enabled' and exists (${due})) or exists (${due} and d.user_id is null))
         order by s.stream_id limit ${limit}`,
  );
  return found.map(({ stream_id }) => stream_id);
}

/**
 * The most overdue first. Those about one user go one after the other: a later one waits until the earlier has ended (SSF 1.0
 * §8.1.2.1).
 */
export const dueSignals = (part: Part, stream_id: StreamId, now: number, limit: number) =>
  part.all(
    DueSignal,
    sql`select ${Delivery.columnsOf('d')}, s.credential_id, s.client_id, s.endpoint_url, s.authorization_sealed
          from signal_deliveries d join signal_streams s on s.stream_id = d.stream_id
         where d.stream_id = ${stream_id} and d.next_attempt_at <= ${now} and ${isPushed}
           and (s.status = 'enabled' or d.user_id is null)
           and not exists (select 1 from signal_deliveries e
                            where e.stream_id = d.stream_id and e.user_id = d.user_id and e.next_attempt_at is not null
                              and (${inTurn('e')}) < (${inTurn('d')}))
         order by d.next_attempt_at, ${inTurn('d')} limit ${limit}`,
  );

export const signalDeliveries = deliveryQueue('signal_deliveries', 'stream_id', Delivery, {
  undeliverable: sql`order by next_attempt_at`,
  everyReceiver: sql`next_attempt_at is not null`,
});

export const claimSignal = (part: Part, signal: Signal, claim: { now: number; until: number }) =>
  signalDeliveries.claim(
    part,
    signal,
    claim,
    sql`exists (select 1 from signal_streams s where s.stream_id = ${signal.stream_id} and ${isPushed}
           and ${signal.user_id === null ? sql`1 = 1` : sql`s.status = 'enabled'`})`,
  );

const bySending = (one: Signal, other: Signal): number =>
  one.created_at - other.created_at || compareText(one.event_id, other.event_id) || one.ordinal - other.ordinal;

/** What waits for a receiver that polls, oldest first. @param isOpen false: only what is about the stream itself. */
export const waitingSignals = (db: Db, stream_id: StreamId, isOpen: boolean, limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        Delivery,
        sql`select ${Delivery.columnsOf('d')} from signal_deliveries d
             where d.stream_id = ${stream_id} and d.next_attempt_at is not null ${isOpen ? sql`` : sql`and d.user_id is null`}
             order by ${inTurn('d')} limit ${limit}`,
      ),
    bySending,
    limit,
  );

/** By its receiver, which names it by its `jti`. Changes nothing unless it waits for that stream. */
export const acknowledge = (stream_id: StreamId, jti: string, now: number): Sql =>
  sql`update signal_deliveries set delivered_at = ${now}, next_attempt_at = null, last_error = null, dead_at = null
       where delivery_id = ${jti} and stream_id = ${stream_id} and next_attempt_at is not null`;

/** As {@link acknowledge}, of one that the receiver cannot use. */
export const refuseSignal = (stream_id: StreamId, jti: string, last_error: string, now: number): Sql =>
  sql`update signal_deliveries set dead_at = ${now}, next_attempt_at = null, last_error = ${last_error}
       where delivery_id = ${jti} and stream_id = ${stream_id} and next_attempt_at is not null`;

/** The stream is enabled, and no signal in this part has been taken since then. */
export const hasOnlyFailed = (stream_id: StreamId, since: number): Sql =>
  sql`exists (select 1 from signal_streams where stream_id = ${stream_id} and status = 'enabled' and deleted_at is null)
      and not exists (select 1 from signal_deliveries where stream_id = ${stream_id} and delivered_at >= ${since})`;

/** Changes nothing if it is disabled already. */
export const disableStream = (stream_id: StreamId, reason: string): Sql =>
  sql`update signal_streams set status = 'disabled', reason = ${reason}
       where stream_id = ${stream_id} and status <> 'disabled' and deleted_at is null`;

const StreamAndStatus = Stream.pick('stream_id', 'status');

/**
 * Streams that have no room for another signal in some part of the store, enabled, or paused for another reason than this: these lose
 * events as well.
 */
export async function fullStreams(db: Db, reason: string) {
  const statement = sql`select s.stream_id, s.status from signal_streams s
         where s.deleted_at is null and s.status <> 'disabled' and ${isNotPausedFor(reason)}
           and not ${hasRoom(raw('s.stream_id'), maxWaiting)}`;
  const found = (await askAll(db, (part) => part.all(StreamAndStatus, statement))).flat();
  return [...new Map(found.map((one) => [one.stream_id, one])).values()];
}

const LastDelivery = row('signal_deliveries', { delivered_at: nullable(integer) });

/** When the receiver took a signal last. Undefined if none is known. */
export async function lastDelivered(db: Db, stream_id: StreamId): Promise<number | undefined> {
  const statement = sql`select max(delivered_at) as delivered_at from (select delivered_at from signal_deliveries
       where stream_id = ${stream_id} and ${isInState('delivered')} order by created_at desc limit 100) as latest`;
  const times = (await askAll(db, (part) => part.get(LastDelivery, statement))).flatMap(
    (one) => one?.delivered_at ?? [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

export const exportedStreams = exportedTable('signal_streams', {
  row: Stream,
  where: sql`deleted_at is null`,
  sealed: { authorization_header: 'authorization_sealed' },
});

export const exportedExclusions = exportedTable('signal_exclusions', {
  row: row('signal_exclusions', { user_id: id<UserId>(), stream_id: id<StreamId>() }),
});
