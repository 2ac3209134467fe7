import type { Db, Statement } from '../platform/db/db.ts';

/** What the log keeps of one event. Times are Unix seconds; states are JSON. */
export type AuditRow = {
  event_id: string;
  at: number;
  action: string;
  actor: string;
  target: string | null;
  reason: string | null;
  before_state: string | null;
  after_state: string | null;
  address: string | null;
};

/** A condition in SQL, its placeholders numbered from `$1` as if it stood alone. */
export type Condition = { sql: string; params: readonly (string | number | null)[] };

/** @param onlyIf read after the statements before it in the batch, so it sees whether the change was made. */
export function insertAuditRow(row: AuditRow, onlyIf: Condition | undefined): Statement {
  const values = [
    row.event_id,
    row.at,
    row.action,
    row.actor,
    row.target,
    row.reason,
    row.before_state,
    row.after_state,
    row.address,
  ];
  // PostgreSQL takes a bare parameter of a select list for text, which fits all of them but the time.
  const insert = `insert into audit_log
      (event_id, at, action, actor, target, reason, before_state, after_state, address)
    select $1, cast($2 as bigint), $3, $4, $5, $6, $7, $8, $9`;
  return insertIf({ sql: insert, params: values }, onlyIf);
}

/** @param insert ends with the select list of an `insert … select`, where a condition may follow. */
export function insertIf({ sql, params = [] }: Statement, condition: Condition | undefined): Statement {
  if (condition === undefined) return { sql, params };
  const renumbered = condition.sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + params.length}`);
  return { sql: `${sql} where ${renumbered}`, params: [...params, ...condition.params] };
}

/** That a conditional event was kept, so its change is made. For the statements after it in the same batch. */
export const eventWasKept = (event_id: string): Condition => ({
  sql: 'exists (select 1 from audit_log where event_id = $1)',
  params: [event_id],
});

/** The events about one thing, newest first. */
export const auditRowsOf = (db: Db, target: string, limit: number): Promise<AuditRow[]> =>
  db.all<AuditRow>(
    `select event_id, at, action, actor, target, reason, before_state, after_state, address
       from audit_log where target = $1 order by at desc, event_id desc limit $2`,
    [target, limit],
  );

/** The newest event about one thing that is one of these. */
export const newestAuditRowOf = (db: Db, target: string, actions: readonly string[]): Promise<AuditRow | undefined> =>
  db.get<AuditRow>(
    `select event_id, at, action, actor, target, reason, before_state, after_state, address
       from audit_log where target = $1 and action in (${actions.map((_, place) => `$${place + 2}`).join(', ')})
      order by at desc, event_id desc limit 1`,
    [target, ...actions],
  );

/** Who did such things to one target since the last thing of another kind, or ever; also in the very second of that. */
export async function actorsSince(
  db: Db,
  target: string,
  { did, since }: { did: readonly string[]; since: readonly string[] },
): Promise<string[]> {
  const places = (from: number, actions: readonly string[]) => actions.map((_, place) => `$${place + from}`).join(', ');
  const rows = await db.all<{ actor: string }>(
    `select distinct actor from audit_log where target = $1 and action in (${places(2, did)}) and at >=
       (select coalesce(max(at), 0) from audit_log where target = $1 and action in (${places(2 + did.length, since)}))`,
    [target, ...did, ...since],
  );
  return rows.map(({ actor }) => actor);
}

/** An event with its place in the chain; null until it is sealed. */
export type SealedRow = AuditRow & { seq: number; seal: string };

const columns = 'event_id, at, action, actor, target, reason, before_state, after_state, address';

export type ChainHead = { seq: number; seal: string; at: number };

/** The newest link of the chain. `at` is the latest time in it: within a batch of seals events may stand a little apart. */
export const chainHead = (db: Db) =>
  db.get<ChainHead>(
    `select seq, seal, (select at from audit_log where seq is not null order by at desc limit 1) as at
       from audit_log where seq is not null order by seq desc limit 1`,
  );

export const sealAt = async (db: Db, seq: number): Promise<string | undefined> =>
  (await db.get<{ seal: string }>('select seal from audit_log where seq = $1', [seq]))?.seal;

/** `head`: the newest place. `accepted`: the last loss that was acknowledged, its number as `seq`. */
export const findHeads = (db: Db) =>
  db.all<{ name: string; seq: number; sealed: string }>('select name, seq, sealed from audit_heads');

/** Only a place of the chain, which another node may have filled meanwhile; and a slower node puts no older one back. */
export const storeHead = ({ seq, seal }: { seq: number; seal: string }, sealed: string): Statement => ({
  sql: `insert into audit_heads (name, seq, sealed)
        select 'head', cast($1 as bigint), $2 where exists (select 1 from audit_log where seq = $1 and seal = $3)
        on conflict (name) do update set seq = excluded.seq, sealed = excluded.sealed
          where audit_heads.seq < excluded.seq`,
  params: [seq, sealed, seal],
});

/** Whatever is there, also an older one. */
export const replaceHead = (seq: number, sealed: string): Statement => replaceNamed('head', seq, sealed);
export const storeAcceptance = (count: number, sealed: string): Statement => replaceNamed('accepted', count, sealed);

const replaceNamed = (name: string, seq: number, sealed: string): Statement => ({
  sql: `insert into audit_heads (name, seq, sealed) values ($1, $2, $3)
        on conflict (name) do update set seq = excluded.seq, sealed = excluded.sealed`,
  params: [name, seq, sealed],
});

/** Oldest first. */
export const unsealedRows = (db: Db, since: number, limit: number) =>
  db.all<AuditRow>(`select ${columns} from audit_log where seq is null and at >= $1 order by at, event_id limit $2`, [
    since,
    limit,
  ]);

/** `late`: from before `since`. */
export async function countUnsealed(db: Db, since: number): Promise<{ all: number; late: number }> {
  const row = await db.get<{ total: number; late: number }>(
    `select count(*) as total, count(case when at < $1 then 1 end) as late from audit_log where seq is null`,
    [since],
  );
  return { all: row?.total ?? 0, late: row?.late ?? 0 };
}

/** Gives an event its place. A place that is taken violates the unique index, and the batch fails whole. */
export const sealRow = (event_id: string, seq: number, seal: string): Statement => ({
  sql: 'update audit_log set seq = $2, seal = $3 where event_id = $1 and seq is null',
  params: [event_id, seq, seal],
});

/** In the order of the chain. */
export const sealedRows = (db: Db, after: number, limit: number) =>
  db.all<SealedRow>(`select seq, seal, ${columns} from audit_log where seq > $1 order by seq limit $2`, [after, limit]);

export type AuditFilter = {
  action?: string;
  actor?: string;
  target?: string;
  since?: number;
  until?: number;
  before?: number;
};

type Search = {
  params: (string | number)[];
  conditions: string[];
  add(condition: (place: string) => string, value: string | number | undefined): void;
};

/** Only what is asked for is in the condition, so that an index can answer it. */
function searchFor(filter: AuditFilter): Search {
  const params: (string | number)[] = [];
  const conditions: string[] = [];
  const add = (condition: (place: string) => string, value: string | number | undefined): void => {
    if (value === undefined || value === '') return;
    params.push(value);
    conditions.push(condition(`$${params.length}`));
  };
  add((place) => `at >= ${place}`, filter.since);
  add((place) => `at <= ${place}`, filter.until);
  if (filter.action?.includes('.')) add((place) => `action = ${place}`, filter.action);
  // Not `like`, to which an underscore and a percent sign say more than they are, and on SQLite a capital nothing.
  else
    add((place) => `(action = ${place} or substr(action, 1, length(${place}) + 1) = ${place} || '.')`, filter.action);
  add((place) => `actor = ${place}`, filter.actor);
  add((place) => `target = ${place}`, filter.target);
  return { params, conditions, add };
}

/** Newest first. `before` is the `seq` of the last row of the page before. */
export async function searchAuditLog(db: Db, filter: AuditFilter, limit: number): Promise<SealedRow[]> {
  if (!filter.action || filter.action.includes('.')) return searchSealed(db, filter, undefined, limit);
  const actions = await actionsOf(db, filter.action);
  return actions.length === 0 ? [] : searchSealed(db, { ...filter, action: undefined }, actions, limit);
}

/**
 * With `actions`, each of them gives its newest rows by the index on (action, seq): neither an engine's collation nor
 * the number of rows matters, which a range over the names would read and sort whole.
 */
function searchSealed(db: Db, filter: AuditFilter, actions: readonly string[] | undefined, limit: number) {
  const { params, conditions, add } = searchFor(filter);
  conditions.push('seq is not null');
  add((place) => `seq < ${place}`, filter.before);
  params.push(limit);
  const newest = `order by seq desc limit $${params.length}`;
  const rowsThat = (all: readonly string[]) =>
    `select seq, seal, ${columns} from audit_log where ${all.join(' and ')} ${newest}`;
  if (actions === undefined) return db.all<SealedRow>(rowsThat(conditions), params);
  const parts = actions.map(
    (_, index) =>
      `select * from (${rowsThat([`action = $${params.length + index + 1}`, ...conditions])}) as of_${index}`,
  );
  return db.all<SealedRow>(`${parts.join(' union all ')} ${newest}`, [...params, ...actions]);
}

/** The actions in the log that are of a family, such as `client`. One step through the index for each action there is. */
async function actionsOf(db: Db, family: string): Promise<string[]> {
  const rows = await db.all<{ action: string }>(
    `with recursive known(action) as (
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
  const { params, conditions, add } = searchFor(filter);
  conditions.push('seq is null');
  if (after) {
    add((place) => `at <= ${place}`, after.at);
    add((place) => `(at < $${params.length - 1} or event_id < ${place})`, after.event_id);
  }
  params.push(limit);
  return db.all<AuditRow>(
    `select ${columns} from audit_log where ${conditions.join(' and ')} order by at desc, event_id desc limit $${params.length}`,
    params,
  );
}
