import type { Db, Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import { id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { allOf, asBigint, join, oneOf, onFoundRow, raw, type Sql, sql } from '../platform/db/sql.ts';
import { type EventId, isOwnId } from '../platform/ids.ts';
import type { AddressQuery } from '../platform/ip-address.ts';
import { isByAdministrator, isConcerned, isOfAccount, keysOfAdministrators } from './administration.ts';

/** Times are Unix seconds; states are JSON, as texts since the seal is over the text. */
export const AuditRow = row('audit_log', {
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

/** `of_user`: whom it concerns who is neither its actor nor its target. Not sealed, since the state says the same: see `concernedBy`. */
const NewAuditRow = row('audit_log', { ...AuditRow.fields, of_user: nullable(text) });
const CheckedRow = row('audit_log', { ...SealedRow.fields, of_user: nullable(text) });
export type CheckedRow = RowOf<typeof CheckedRow>;

/** @param onlyIf a condition, read when the statements before it have had their effect. */
export const insertAuditRow = (event: RowOf<typeof NewAuditRow>, onlyIf?: Sql): Sql =>
  onlyIf === undefined
    ? sql`insert into audit_log ${NewAuditRow.values(event)}`
    : sql`insert into audit_log ${NewAuditRow.select(event)} where ${onlyIf}`;

export const hasEvent = async (db: Db, action: string): Promise<boolean> =>
  (await askAll(db, (part) => part.holds(sql`exists (select 1 from audit_log where action = ${action})`))).includes(
    true,
  );

const DeletedState = AuditRow.pick('target', 'before_state');

/** What deleted clients were, as far as the chain has it. */
export const statesAtDeletion = async (db: Db, client_ids: readonly string[]) => {
  const statement = sql`select target, before_state from audit_log
         where ${targetAndAction} in ${oneOf(client_ids.map((id) => `${id} client.deleted`))} and seq is not null`;
  return (await askAll(db, (part) => part.all(DeletedState, statement))).flat();
};

/** Of indexes; see migration 0049. No action has a blank in it. */
const placeInIndex = sql`(seq + 0)`;
const targetAndAction = sql`(target || ' ' || action)`;
const actorAndAction = sql`(actor || ' ' || action)`;

const ChainHead = SealedRow.pick('seq', 'seal', 'at');
export type ChainHead = RowOf<typeof ChainHead>;

/** The newest link of the chain. `at` is the latest time in it: within a batch of seals events may stand a little apart. */
export const chainHead = (part: Part) =>
  part.get(
    ChainHead,
    sql`select seq, seal, (select at from audit_log where seq is not null order by at desc limit 1) as at
          from audit_log where seq is not null order by seq desc limit 1`,
  );

export const sealAt = async (part: Part, seq: number): Promise<string | undefined> =>
  (await part.get(SealedRow.pick('seal'), sql`select seal from audit_log where seq = ${seq}`))?.seal;

/** Oldest first. */
export const unsealedRows = (part: Part, limit: number) =>
  part.all(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where seq is null order by at, event_id limit ${limit}`,
  );

const Unsealed = row('audit_log', { total: integer });

export const countUnsealed = async (part: Part): Promise<number> =>
  (await part.get(Unsealed, sql`select count(*) as total from audit_log where seq is null`))?.total ?? 0;

const Backlog = row('audit_log', { waiting: integer, oldest: nullable(integer) });

/** Events without a place, up to `most` of them, and when the oldest happened. */
export const unsealedRowsUpTo = (part: Part, most: number) =>
  part.get(
    Backlog,
    sql`select (select count(*) from (select at from audit_log where seq is null order by at limit ${most}) as part) as waiting,
               (select min(at) from audit_log where seq is null) as oldest`,
  );

/** Gives an event its place. The unique index refuses a place that is taken. */
export const sealRow = (event_id: EventId, seq: number, seal: string): Sql =>
  sql`update audit_log set seq = ${seq}, seal = ${seal} where event_id = ${event_id} and seq is null`;

/** In the order of the chain. */
export const sealedRows = (part: Part, after: number, limit: number) =>
  part.all(
    CheckedRow,
    sql`select ${CheckedRow.columns} from audit_log where seq > ${after} order by seq limit ${limit}`,
  );

const CountedEvent = SealedRow.pick('seq', 'at', 'action', 'actor', 'target');
export type CountedEvent = RowOf<typeof CountedEvent>;

/** In the order of the chain. */
export const countedEventsAfter = (part: Part, after: number, limit: number) =>
  part.all(
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
  /** The id of a user, instead of all of the above but `actions`: what they did with their own account, and what others did with it. */
  account?: string;
  of_user?: string; // instead of the same: what others did with what is theirs, such as a session
  /** The request in whose course it happened. */
  request_id?: string;
  /** Where the request came from. */
  address?: AddressQuery;
  /**
   * Given, only what administrators and the command line have changed. What these users, who are administrators, have done to
   * what is another's is found by an index, as is what only administrators can do. `any`: there are too many of them for
   * that, and the whole log is compared, a part for each read.
   */
  administrators?: readonly string[] | 'any';
  since?: number;
  until?: number;
  /** Where the page before ended. */
  before?: LogPlace | undefined;
};

/** Of each part of the store the `seq` before which a page begins. */
export type LogPlace = readonly number[];

/** For the chain of one part. */
export type ChainFilter = Omit<AuditFilter, 'before'> & { before?: number | undefined; after?: number };

/** Not `like`: `_` and `%` are wildcards to it, and SQLite ignores case. */
const isOfFamily = (family: string): Sql =>
  sql`(action = ${family} or substr(action, 1, ${raw(String([...family].length + 1))}) = ${`${family}.`})`;

/** An id that came from another product does not say whose it is. */
function actorsOf(id: string): readonly string[] {
  if (!isOwnId(id)) return [`user:${id}`, `client:${id}`];
  return [`${id.startsWith('usr_') ? 'user' : id.startsWith('svc_') ? 'service' : 'client'}:${id}`];
}

/** What an id did, and what was done to it. */
const isAbout = (id: string): Sql => sql`actor in ${oneOf(actorsOf(id))} or target = ${id}`;

const isFrom = (address: AddressQuery): Sql =>
  'spellings' in address
    ? sql`address in ${oneOf(address.spellings)}`
    : sql`(${join(
        address.beginnings.map((one) => sql`substr(address, 1, ${raw(String(one.length))}) = ${one}`),
        ' or ',
      )})`;

/** How a search finds its rows: each key is a part of one index, in the order of the chain. All else is compared row by row. */
type Way = { keys: readonly Sql[]; place: Sql; compared: readonly Sql[] };

function wayOf(filter: ChainFilter, actions?: readonly string[]): Way {
  const { request_id, about, account, of_user, actor, target, since, until, address, administrators } = filter;
  const compared: Sql[] = [];
  if (since !== undefined) compared.push(sql`at >= ${since}`);
  if (until !== undefined) compared.push(sql`at <= ${until}`);
  if (administrators) compared.push(isByAdministrator);
  if (account) {
    compared.push(isOfAccount(account), sql`action in ${oneOf(actions ?? [])}`);
    const keys = [sql`target = ${account}`, sql`actor = ${`user:${account}`}`, sql`of_user = ${account}`];
    return { keys, place: placeInIndex, compared };
  }
  if (of_user) {
    compared.push(isConcerned(of_user));
    return { keys: [sql`of_user = ${of_user}`], place: placeInIndex, compared };
  }
  const isNarrow = Boolean(request_id || about || actor || target);
  if (address && 'spellings' in address && !isNarrow) {
    if (actions) compared.push(sql`action in ${oneOf(actions)}`);
    return { keys: address.spellings.map((one) => sql`address = ${one}`), place: placeInIndex, compared };
  }
  if (address) compared.push(isFrom(address));
  if (actor && (request_id || about || target)) compared.push(sql`actor = ${actor}`);
  if (target && (request_id || about)) compared.push(sql`target = ${target}`);
  if (request_id) {
    if (about) compared.push(isAbout(about));
    if (actions) compared.push(sql`action in ${oneOf(actions)}`);
    return {
      keys: [sql`substr(event_id, 13, 1) = '.' and substr(event_id, 14) = ${request_id}`],
      place: sql`seq`,
      compared,
    };
  }
  if (!isNarrow && !actions) {
    if (administrators && administrators !== 'any')
      return { keys: keysOfAdministrators(administrators), place: placeInIndex, compared };
    return { keys: [sql`1 = 1`], place: sql`seq`, compared };
  }
  const [by, of] = about ? [actorsOf(about), about] : [target || !actor ? [] : [actor], target];
  const keys = (actions ?? [undefined]).flatMap((action) => [
    ...by.map((one) => (action ? sql`${actorAndAction} = ${`${one} ${action}`}` : sql`actor = ${one}`)),
    ...(of ? [action ? sql`${targetAndAction} = ${`${of} ${action}`}` : sql`target = ${of}`] : []),
    ...(by.length > 0 || of ? [] : [sql`action = ${action ?? ''}`]),
  ]);
  return { keys, place: placeInIndex, compared };
}

/** So many rows a statement compares at most. */
const comparedAtOnce = 1000;

const Place = SealedRow.pick('seq');

/** `end`: the place that the search has come to, if it has not come to the end of the log. */
export type Found = { rows: SealedRow[]; end: number | undefined };

/**
 * Of one part: newest first; with `after`, what follows that place, oldest first. Reads a bounded part of the log: who finds less than is
 * wanted goes on at `end`.
 */
export async function searchAuditLog(part: Part, filter: ChainFilter, limit: number): Promise<Found> {
  const { action, after, before, about } = filter;
  const actions = !action ? filter.actions : action.includes('.') ? [action] : await actionsOf(part, action);
  const { keys, place, compared } = wayOf(filter, actions);
  if (keys.length === 0) return { rows: [], end: undefined };
  const inOrder = after === undefined ? sql`order by seq desc` : sql`order by seq`;
  const byIndex = after === undefined ? sql`order by ${place} desc` : sql`order by ${place}`;
  const range = [...placesOf(filter, place), sql`seq is not null`];
  if (before !== undefined) range.push(sql`${place} < ${before}`);
  if (after !== undefined) range.push(sql`${place} > ${after}`);
  const placesBy = (conditions: readonly Sql[], rows: Sql) => {
    const parts = keys.map((key, index) => {
      const part = sql`select seq from audit_log where ${allOf([key, ...conditions])} ${byIndex} ${rows}`;
      return sql`select seq from (${part}) as ${raw(`of_${index}`)}`;
    });
    return join(parts, ' union all ');
  };

  let end: number | undefined;
  if (compared.length > 0) {
    const rows = sql`limit 1 offset ${Math.max(1, Math.floor(comparedAtOnce / keys.length)) - 1}`;
    end = (await part.get(Place, sql`${placesBy(range, rows)} ${inOrder} limit 1`))?.seq;
    if (end !== undefined) range.push(after === undefined ? sql`${place} >= ${end}` : sql`${place} <= ${end}`);
  }
  const conditions = [...range, ...(compared.length > 0 ? [onFoundRow(allOf(compared))] : [])];
  const [key] = keys;
  const rowsThat = (isFound: Sql, order: Sql) =>
    part.all(SealedRow, sql`select ${SealedRow.columns} from audit_log where ${isFound} ${order} limit ${limit}`);
  if (key && keys.length === 1) return { rows: await rowsThat(allOf([key, ...conditions]), byIndex), end };
  // An event of `about` may have been done by it and to it, and one of an administrator may be of a kind that only they do.
  const most = sql`limit ${about || filter.account || filter.administrators ? limit * 2 : limit}`;
  const places = sql`select seq from (${placesBy(conditions, sql`limit ${limit}`)} ${inOrder} ${most}) as places`;
  return { rows: await rowsThat(sql`seq is not null and seq in (${places})`, inOrder), end };
}

/**
 * Where events of a period can be in the chain, so that a period without many events does not read the whole log. An event
 * is sealed after those that are older by more than any event has ever been behind, and before those that are so much newer.
 */
function placesOf({ since, until }: ChainFilter, place: Sql): Sql[] {
  const places: Sql[] = [];
  if (since !== undefined) {
    places.push(sql`${place} > coalesce((select seq from audit_log
                                      where at < ${since - outOfOrderSeconds} - ${mostBehind} and seq is not null
                                      order by at desc limit 1), 0)`);
  }
  if (until !== undefined) {
    places.push(sql`${place} < coalesce((select seq from audit_log
                                      where at > ${until + outOfOrderSeconds} + ${mostBehind} and seq is not null
                                      order by at limit 1), ${asBigint(Number.MAX_SAFE_INTEGER)})`);
  }
  return places;
}

/** Seconds by which the dates of neighbours in the chain may be out of order while no clock was set. */
export const outOfOrderSeconds = 600;

const mostBehind = sql`coalesce((select most_behind from audit_heads where name = 'head'), 0)`;

/** The actions in the log that are of a family, such as `client`. One step through the index for each action there is. */
async function actionsOf(part: Part, family: string): Promise<string[]> {
  const rows = await part.all(
    AuditRow.pick('action'),
    sql`with recursive known(action) as (
          select min(action) from audit_log
          union all
          select (select min(action) from audit_log where action > known.action) from known where known.action is not null)
        select action from known where action is not null`,
  );
  return rows.map(({ action }) => action).filter((action) => action === family || action.startsWith(`${family}.`));
}

/** Events without a place yet, newest first: those of the last second, unless nothing is sealed. @param after the last row of the page before. */
export async function searchUnsealed(
  part: Part,
  { action, actions, actor, target, about, of_user, request_id, since, until, address, administrators }: ChainFilter,
  limit: number,
  after?: Pick<AuditRow, 'at' | 'event_id'>,
): Promise<AuditRow[]> {
  const conditions = [sql`seq is null`];
  if (since !== undefined) conditions.push(sql`at >= ${since}`);
  if (until !== undefined) conditions.push(sql`at <= ${until}`);
  if (action) conditions.push(action.includes('.') ? sql`action = ${action}` : isOfFamily(action));
  else if (actions) conditions.push(sql`action in ${oneOf(actions)}`);
  if (actor) conditions.push(sql`actor = ${actor}`);
  if (target) conditions.push(sql`target = ${target}`);
  if (about) conditions.push(isAbout(about));
  if (of_user) conditions.push(sql`of_user = ${of_user}`, isConcerned(of_user));
  if (address) conditions.push(isFrom(address));
  if (administrators) conditions.push(isByAdministrator);
  if (request_id) conditions.push(sql`substr(event_id, 13, 1) = '.'`, sql`substr(event_id, 14) = ${request_id}`);
  if (after) {
    conditions.push(sql`at <= ${after.at}`, sql`at < ${after.at} or event_id < ${after.event_id}`);
  }
  return part.all(
    AuditRow,
    sql`select ${AuditRow.columns} from audit_log where ${allOf(conditions)}
         order by at desc, event_id desc limit ${limit}`,
  );
}
