import type { Db } from '../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { sealedColumn } from '../platform/db/sealed-column.ts';
import { allOf, asBigint, join, oneOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { EventId } from '../platform/ids.ts';

/** Times are Unix seconds; states are JSON, as texts since the seal is over the text. */
const AuditRow = row('audit_log', {
  event_id: id<EventId>(),
  at: integer,
  action: text,
  actor: text,
  target: nullable(text),
  reason: nullable(text),
  before_state: nullable(text),
  after_state: nullable(text),
  address: nullable(text),
});
export type AuditRow = RowOf<typeof AuditRow>;

/** An event with its place in the chain. */
const SealedRow = row('audit_log', { ...AuditRow.fields, seq: integer, seal: text });
export type SealedRow = RowOf<typeof SealedRow>;

/** @param onlyIf a condition, read when the statements before it have had their effect. */
export const insertAuditRow = (event: AuditRow, onlyIf = sql`1 = 1`): Sql =>
  sql`insert into audit_log ${AuditRow.select(event)} where ${onlyIf}`;

/** The events about one target, newest first. */
export const auditRowsOf = (db: Db, target: string, limit: number): Promise<AuditRow[]> =>
  db.all(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where target = ${target} order by at desc, event_id desc limit ${limit}`,
  );

export const hasEvent = (db: Db, action: string): Promise<boolean> =>
  db.holds(sql`exists (select 1 from audit_log where action = ${action})`);

const DeletedState = AuditRow.pick('target', 'before_state');

/** What deleted clients were, as far as the log has it. */
export const statesAtDeletion = (db: Db, client_ids: readonly string[]) =>
  db.all(
    DeletedState,
    sql`select target, before_state from audit_log where target in ${oneOf(client_ids)} and action || '' = 'client.deleted'`,
  );

/** The newest event about one target that is one of these. */
export const newestAuditRowOf = (db: Db, target: string, actions: readonly string[]): Promise<AuditRow | undefined> =>
  db.get(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where target = ${target} and action in ${oneOf(actions)}
         order by at desc, event_id desc limit 1`,
  );

/** Who did one of `did` to a target since the newest of `since`, or ever; the very second of that included. */
export async function actorsSince(
  db: Db,
  target: string,
  { did, since }: { did: readonly string[]; since: readonly string[] },
): Promise<string[]> {
  const rows = await db.all(
    AuditRow.pick('actor'),
    sql`select distinct actor from audit_log where target = ${target} and action in ${oneOf(did)} and at >=
          (select coalesce(max(at), 0) from audit_log where target = ${target} and action in ${oneOf(since)})`,
  );
  return rows.map(({ actor }) => actor);
}

/** Whether an actor has ever done one of these to a target. */
export const hasActed = async (
  db: Db,
  { actor, target, did }: { actor: string; target: string; did: readonly string[] },
): Promise<boolean> =>
  (await db.get(
    AuditRow.pick('actor'),
    sql`select actor from audit_log where target = ${target} and actor = ${actor} and action in ${oneOf(did)} limit 1`,
  )) !== undefined;

const ChainHead = SealedRow.pick('seq', 'seal', 'at');
export type ChainHead = RowOf<typeof ChainHead>;

/** The newest link of the chain. `at` is the latest time in it: within a batch of seals events may stand a little apart. */
export const chainHead = (db: Db) =>
  db.get(
    ChainHead,
    sql`select seq, seal, (select at from audit_log where seq is not null order by at desc limit 1) as at
          from audit_log where seq is not null order by seq desc limit 1`,
  );

export const sealAt = async (db: Db, seq: number): Promise<string | undefined> =>
  (await db.get(SealedRow.pick('seal'), sql`select seal from audit_log where seq = ${seq}`))?.seal;

const RecordedHead = row('audit_heads', { name: text, seq: integer, sealed: text });

/** `head`: the newest place. `accepted`: the last loss that was acknowledged, its number as `seq`. */
export const findHeads = (db: Db) => db.all(RecordedHead, sql`select ${RecordedHead.columns} from audit_heads`);

/** Changes nothing unless the chain has that place, and never goes back: another node may be ahead. */
export const storeHead = ({ seq, seal }: { seq: number; seal: string }, sealed: string): Sql =>
  sql`insert into audit_heads ${RecordedHead.select({ name: 'head', seq, sealed })}
       where exists (select 1 from audit_log where seq = ${seq} and seal = ${seal})
      on conflict (name) do update set seq = excluded.seq, sealed = excluded.sealed
        where audit_heads.seq < excluded.seq`;

/** Also over a newer one. */
export const replaceHead = (seq: number, sealed: string): Sql => replaceNamed('head', seq, sealed);
export const storeAcceptance = (count: number, sealed: string): Sql => replaceNamed('accepted', count, sealed);

const replaceNamed = (name: string, seq: number, sealed: string): Sql =>
  sql`insert into audit_heads ${RecordedHead.values({ name, seq, sealed })}
      on conflict (name) do update set seq = excluded.seq, sealed = excluded.sealed`;

export const headsColumn = sealedColumn('audit_heads', 'name', 'sealed');

/** Oldest first. */
export const unsealedRows = (db: Db, since: number, limit: number) =>
  db.all(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where seq is null and at >= ${since}
         order by at, event_id limit ${limit}`,
  );

const UnsealedCounts = row('audit_log', { total: integer, late: integer });

/** `late`: from before `since`. */
export async function countUnsealed(db: Db, since: number): Promise<{ all: number; late: number }> {
  const counted = await db.get(
    UnsealedCounts,
    sql`select count(*) as total, count(case when at < ${since} then 1 end) as late
          from audit_log where seq is null`,
  );
  return { all: counted?.total ?? 0, late: counted?.late ?? 0 };
}

const Backlog = row('audit_log', { waiting: integer, oldest: nullable(integer) });

/** Events without a place, up to `most` of them, and when the oldest happened. */
export const unsealedRowsUpTo = (db: Db, most: number) =>
  db.get(
    Backlog,
    sql`select (select count(*) from (select at from audit_log where seq is null order by at limit ${most}) as part) as waiting,
               (select min(at) from audit_log where seq is null) as oldest`,
  );

/** Gives an event its place. The unique index refuses a place that is taken. */
export const sealRow = (event_id: EventId, seq: number, seal: string): Sql =>
  sql`update audit_log set seq = ${seq}, seal = ${seal} where event_id = ${event_id} and seq is null`;

/** In the order of the chain. */
export const sealedRows = (db: Db, after: number, limit: number) =>
  db.all(SealedRow, sql`select ${SealedRow.columns} from audit_log where seq > ${after} order by seq limit ${limit}`);

const CountedEvent = SealedRow.pick('seq', 'at', 'action', 'actor', 'target');
export type CountedEvent = RowOf<typeof CountedEvent>;

/** In the order of the chain. */
export const countedEventsAfter = (db: Db, after: number, limit: number) =>
  db.all(
    CountedEvent,
    sql`select ${CountedEvent.columns} from audit_log where seq > ${after} order by seq limit ${limit}`,
  );

/** An empty text is no filter. */
export type AuditFilter = {
  /** An action, or the first word of several. */
  action?: string;
  /** Exactly these actions; instead of `action`. */
  actions?: readonly string[];
  actor?: string;
  target?: string;
  /** The id of a user, a client or a service credential: what it did and what was done to it. */
  about?: string;
  /** The request in whose course it happened. */
  request_id?: string;
  since?: number;
  until?: number;
  /** The `seq` of the last row of the page before. */
  before?: number;
};

/** Only what is asked for is among the conditions, so that an index can answer it. */
function conditionsOf({ since, until, actor, target, action, request_id }: AuditFilter): Sql[] {
  const conditions: Sql[] = [];
  if (since !== undefined) conditions.push(sql`at >= ${since}`);
  if (until !== undefined) conditions.push(sql`at <= ${until}`);
  if (action) conditions.push(action.includes('.') ? sql`action = ${action}` : isOfFamily(action));
  if (actor) conditions.push(sql`actor = ${actor}`);
  if (target) conditions.push(sql`target = ${target}`);
  if (request_id) conditions.push(sql`substr(event_id, 13, 1) = '.'`, sql`substr(event_id, 14) = ${request_id}`);
  return conditions;
}

/** Not `like`: `_` and `%` are wildcards to it, and SQLite ignores case. */
const isOfFamily = (family: string): Sql =>
  sql`(action = ${family} or substr(action, 1, ${raw(String([...family].length + 1))}) = ${`${family}.`})`;

/** What an id did, and what was done to it: each by an index, and no event twice. */
function sidesOf(about: string): readonly Sql[] {
  const actor = `${/^usr_/.test(about) ? 'user' : /^svc_/.test(about) ? 'service' : 'client'}:${about}`;
  return [sql`actor = ${actor}`, sql`target = ${about} and actor <> ${actor}`];
}

/** Newest first; with `after`, what follows that place, oldest first. */
export async function searchAuditLog(
  db: Db,
  filter: AuditFilter & { after?: number },
  limit: number,
): Promise<SealedRow[]> {
  if (!filter.action || filter.action.includes('.')) return searchSealed(db, filter, filter.actions, limit);
  const actions = await actionsOf(db, filter.action);
  return actions.length === 0 ? [] : searchSealed(db, { ...filter, action: undefined }, actions, limit);
}

/**
 * With `actions`, each of them gives its newest rows by the index on (action, seq): neither an engine's collation nor
 * the number of rows matters, which a range over the names would read and sort whole.
 */
function searchSealed(
  db: Db,
  filter: AuditFilter & { after?: number },
  actions: readonly string[] | undefined,
  limit: number,
) {
  const { about, before, after } = filter;
  const conditions = [...conditionsOf(filter), ...placesOf(filter), sql`seq is not null`];
  if (before !== undefined) conditions.push(sql`seq < ${before}`);
  if (after !== undefined) conditions.push(sql`seq > ${after}`);
  const inOrder = after === undefined ? sql`order by seq desc limit ${limit}` : sql`order by seq limit ${limit}`;
  const rowsThat = (all: readonly Sql[]) =>
    sql`select ${SealedRow.columns} from audit_log where ${allOf(all)} ${inOrder}`;
  const parts = about
    ? sidesOf(about).map((side) => [side, ...(actions ? [isAmong(actions)] : []), ...conditions])
    : (actions?.map((action) => [sql`action = ${action}`, ...conditions]) ?? [conditions]);
  const [only] = parts;
  if (only && parts.length === 1) return db.all(SealedRow, rowsThat(only));
  const selections = parts.map((part, index) => sql`select * from (${rowsThat(part)}) as ${raw(`of_${index}`)}`);
  return db.all(SealedRow, sql`${join(selections, ' union all ')} ${inOrder}`);
}

/** Not by the index on actions: what one user did is less than all that was done of a kind. */
const isAmong = (actions: readonly string[]): Sql => sql`action || '' in ${oneOf(actions)}`;

/**
 * Where events of a period can be in the chain, so that a period without many events does not read the whole log. An event
 * is sealed before those that are more than {@link lateAfterSeconds} newer, and after those that are so much older.
 */
function placesOf({ since, until }: AuditFilter): Sql[] {
  const places: Sql[] = [];
  if (since !== undefined) {
    places.push(sql`seq > coalesce((select seq from audit_log where at < ${since - lateAfterSeconds} and seq is not null
                                      order by at desc limit 1), 0)`);
  }
  if (until !== undefined) {
    places.push(sql`seq < coalesce((select seq from audit_log where at > ${until + lateAfterSeconds} and seq is not null
                                      order by at limit 1), ${asBigint(Number.MAX_SAFE_INTEGER)})`);
  }
  return places;
}

/** Seconds by which the events of the chain may be out of their order in time. */
export const lateAfterSeconds = 600;

/** The actions in the log that are of a family, such as `client`. One step through the index for each action there is. */
async function actionsOf(db: Db, family: string): Promise<string[]> {
  const rows = await db.all(
    AuditRow.pick('action'),
    sql`with recursive known(action) as (
          select min(action) from audit_log
          union all
          select (select min(action) from audit_log where action > known.action) from known where known.action is not null)
        select action from known where action is not null`,
  );
  return rows.map(({ action }) => action).filter((action) => action === family || action.startsWith(`${family}.`));
}

/** Events without a place yet, newest first. @param after the last row of the page before. */
export function searchUnsealed(
  db: Db,
  filter: AuditFilter,
  limit: number,
  after?: Pick<AuditRow, 'at' | 'event_id'>,
): Promise<AuditRow[]> {
  const conditions = [...conditionsOf(filter), sql`seq is null`];
  if (filter.actions) conditions.push(sql`action in ${oneOf(filter.actions)}`);
  if (filter.about)
    conditions.push(
      sql`(${join(
        sidesOf(filter.about).map((side) => sql`(${side})`),
        ' or ',
      )})`,
    );
  if (after) {
    conditions.push(sql`at <= ${after.at}`, sql`at < ${after.at} or event_id < ${after.event_id}`);
  }
  return db.all(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where ${allOf(conditions)}
         order by at desc, event_id desc limit ${limit}`,
  );
}
