import { setTimeout as pause } from 'node:timers/promises';
import { isInCalendar } from '../platform/clock.ts';
import { csvRow } from '../platform/csv.ts';
import type { OneDb } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import { inPages, maxCounted } from '../platform/db/slices.ts';
import { nameOfPart, readSealed, searchAllUnsealed } from './all-chains.ts';
import { requestIdOf } from './audit.ts';
import type { Deps } from './deps.ts';
import {
  type AuditFilter,
  type AuditRow,
  chainHead,
  type LogPlace,
  type SealedRow,
  searchAuditLog,
  unsealedRowsUpTo,
} from './store.ts';

/** How many events wait to be sealed, up to {@link maxCounted}, and when the oldest of them happened. */
export async function unsealedBacklog(db: Deps['db']): Promise<{ waiting: number; oldest: number | null }> {
  const found = (await askAll(db, (part) => unsealedRowsUpTo(part, maxCounted))).filter((one) => one !== undefined);
  const dates = found.flatMap(({ oldest }) => oldest ?? []);
  const waiting = found.reduce((sum, one) => sum + one.waiting, 0);
  return { waiting: Math.min(waiting, maxCounted), oldest: dates.length === 0 ? null : Math.min(...dates) };
}

type LogDeps = Pick<Deps, 'db' | 'auditLog'>;

/** An event as programs read it: states are objects, times Unix seconds. */
export type AuditRecord = Omit<SealedRow, 'before_state' | 'after_state'> & {
  before: unknown;
  after: unknown;
  request_id: string | null;
  /** Whose chain it is in; undefined in a store of one part. */
  part?: string | undefined;
};

const auditRecord = <Row extends Pick<SealedRow, 'event_id' | 'before_state' | 'after_state'>>({
  before_state,
  after_state,
  ...row
}: Row) => ({
  ...row,
  before: before_state === null ? null : JSON.parse(before_state),
  after: after_state === null ? null : JSON.parse(after_state),
  request_id: requestIdOf(row.event_id),
});

export type LogPage = {
  events: AuditRecord[] /** For `before`; undefined on the last page. */;
  next: LogPlace | undefined;
};

/** Bounded reads that a page makes to become full; then it says where to go on. */
const readsForPage = 10;

/** Up to 200 events: of a larger backlog the job seals the rest. */
const sealedForPage = { batches: 4 };

/**
 * Newest first, including events of this moment, which are sealed before the read unless a backlog is in front of them. A
 * page may have fewer events than the limit, even none, and yet not be the last one: where few of many match, each page looks
 * through a part of the log.
 * @param limit 1 to 1000.
 */
export async function readLog(deps: LogDeps, filter: AuditFilter, limit: number): Promise<LogPage> {
  await deps.auditLog.sealForReading(sealedForPage);
  const { rows, next } = await readSealed(deps, filter, limit, readsForPage);
  return { events: rows.map(auditRecord), next };
}

/** An event that may have no place in the chain yet. */
export type AnyRecord = Omit<AuditRecord, 'seq' | 'seal'> & { seq: number | null; seal: string | null };

const withoutSequence = (row: AuditRow) => ({ ...row, seq: null, seal: null });

/** As {@link readLog} without sealing: events without a place come first. */
export async function readLogWithoutSealing(
  { db }: Pick<Deps, 'db'>,
  filter: AuditFilter,
  limit: number,
): Promise<AnyRecord[]> {
  const unsealed = (await searchAllUnsealed(db, filter, limit)).map(withoutSequence);
  const left = limit - unsealed.length;
  const sealed = left > 0 ? await readSealed({ db }, filter, left, Number.POSITIVE_INFINITY) : { rows: [] };
  return [...unsealed, ...sealed.rows].map(auditRecord);
}

/** The newest event about a target that is one of these: the last of the chain, or one that will come after it. */
export async function newestEventOf(
  { db }: Pick<Deps, 'db'>,
  target: string,
  actions: readonly string[],
): Promise<AnyRecord | undefined> {
  const [[unsealed], { rows }] = await Promise.all([
    searchAllUnsealed(db, { target, actions }, 1),
    readSealed({ db }, { target, actions }, 1, 1),
  ]);
  const [sealed] = rows;
  const newest = unsealed ? withoutSequence(unsealed) : sealed;
  return newest && auditRecord(newest);
}

/**
 * Who did one of `did` to a target since the newest of `since`, or ever; the very second of that included. What the chain has
 * after it counts whatever its date is, since a clock may have been set back.
 */
export async function actorsSince(
  deps: Pick<Deps, 'db'>,
  target: string,
  { did, since }: { did: readonly string[]; since?: readonly string[] },
): Promise<string[]> {
  const last = since && (await newestEventOf(deps, target, since));
  const isSince = ({ seq, at, part }: AnyRow): boolean =>
    last === undefined || seq === null || at >= last.at || (last.seq !== null && part === last.part && seq > last.seq);
  const actors = new Set<string>();
  for await (const rows of pagesOfAll(deps, { target, actions: did })) {
    const found = rows.filter(isSince);
    for (const { actor } of found) actors.add(actor);
    if (rows.length > found.length) break; // newest first
  }
  return [...actors];
}

/** Whether an actor has ever done one of these to a target. */
export const hasActed = async (
  deps: Pick<Deps, 'db'>,
  { actor, target, did }: { actor: string; target: string; did: readonly string[] },
): Promise<boolean> => (await readLogWithoutSealing(deps, { actor, target, actions: did }, 1)).length > 0;

const followedPerRead = 500;

/**
 * The newest events, oldest first, and then each that follows until the signal; each once, also one that was shown before it
 * had a place in the chain.
 */
export async function* followLog(
  deps: Pick<Deps, 'db'>,
  filter: AuditFilter,
  { limit, signal, everyMs = 1000 }: { limit: number; signal: AbortSignal; everyMs?: number },
): AsyncGenerator<AnyRecord[]> {
  const { db } = deps;
  const chains = await askAll(db, async (part) => ({
    part,
    name: nameOfPart(db, part),
    place: (await chainHead(part))?.seq ?? 0,
  }));
  const places = new Map(chains.map(({ name, place }) => [name, place]));
  const first = (await readLogWithoutSealing(deps, filter, limit)).reverse();
  /** Shown already, of those that the next reads find. */
  let shown = new Set(
    first.filter(({ seq, part }) => seq === null || seq > (places.get(part) ?? 0)).map(({ event_id }) => event_id),
  );
  if (first.length > 0) yield first;
  while (!signal.aborted) {
    await pause(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    // Those without a place before the chain, or one that is sealed in between would be in neither.
    const unsealed = (await searchAllUnsealed(db, filter, followedPerRead)).reverse().map(withoutSequence);
    const sealed = (await Promise.all(chains.map((chain) => readOn(chain, filter)))).flat();
    if (chains.length > 1) sealed.sort((one, other) => one.at - other.at);
    const found = new Map([...sealed, ...unsealed].map((row) => [row.event_id, row] as const));
    const fresh = [...found.values()].filter(({ event_id }) => !shown.has(event_id));
    shown = new Set(unsealed.map(({ event_id }) => event_id));
    if (fresh.length > 0) yield fresh.map(auditRecord);
  }
}

/** What follows in a chain, oldest first; moves its place. */
async function readOn(
  chain: { part: OneDb; name: string | undefined; place: number },
  filter: AuditFilter,
): Promise<(SealedRow & { part?: string | undefined })[]> {
  const sealed: SealedRow[] = [];
  for (let hasMore = true; hasMore && sealed.length < followedPerRead; ) {
    const beyond = { ...filter, before: undefined, after: chain.place };
    const { rows, end } = await searchAuditLog(chain.part, beyond, followedPerRead);
    sealed.push(...rows);
    hasMore = rows.length < followedPerRead && end !== undefined;
    chain.place = (hasMore ? end : rows.at(-1)?.seq) ?? chain.place;
  }
  return chain.name === undefined ? sealed : sealed.map((row) => ({ ...row, part: chain.name }));
}

/** The field that looks mistyped in a filter that matches nothing. */
export type FilterWarning = 'action' | 'actor' | 'request';

/** @returns undefined for a filter that may well be meant as it is. */
export async function filterWarningOf(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  filter: AuditFilter,
): Promise<FilterWarning | undefined> {
  if (filter.actor && !/^(user|client|service):.|^(cli|system)$/.test(filter.actor)) return 'actor';
  if (filter.action && (await readLogWithoutSealing({ db }, { action: filter.action }, 1)).length === 0)
    return 'action';
  if (filter.request_id && !config.logRequests && !config.traces) return 'request';
  return undefined;
}

export const exportFormats = ['jsonl', 'csv'] as const;
type ExportFormat = (typeof exportFormats)[number];

/** For what it holds and when: `audit-log_client.approved_usr_x_2027-01-01_2027-01-31T08-00Z.csv`. @param at Unix seconds. */
export function exportName(filter: AuditFilter, format: ExportFormat, at: number): string {
  const { action, actor, target, about, request_id, address, administrators, since, until = at } = filter;
  const [from_address] = address ? ('spellings' in address ? address.spellings : address.beginnings) : [];
  const by = administrators && 'administrators';
  const day = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16).replace(':', '-');
  const from = since === undefined || !isInCalendar(since) ? [] : [`${day(since)}Z`];
  const to = isInCalendar(until) ? [`${day(until)}Z`] : [];
  const parts = ['audit-log', by, action, actor, target, about, request_id, from_address, ...from, ...to].filter(
    Boolean,
  );
  return `${parts.map((part) => `${part}`.replaceAll(/[^\w.-]+/g, '-').slice(0, 64)).join('_')}.${format}`;
}

/** Newest first, a page at a time, so that memory stays bounded. Events that happen meanwhile are not in it. */
export async function* exportLog(deps: LogDeps, filter: AuditFilter, format: ExportFormat): AsyncGenerator<string> {
  await deps.auditLog.sealForReading();
  if (format === 'csv') yield headingsOf(deps);
  yield* inPages<LogPlace, string>(async (before = filter.before, limit) => {
    const { rows, next } = await readSealed(deps, { ...filter, before }, limit, 1);
    return { page: rows.map((row) => lineOf(deps, format, row)).join(''), next };
  });
}

/** As {@link exportLog} without sealing: events without a place come first. */
export async function* exportLogWithoutSealing(
  deps: Pick<Deps, 'db'>,
  filter: AuditFilter,
  format: ExportFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield headingsOf(deps);
  for await (const rows of pagesOfAll(deps, filter)) yield rows.map((row) => lineOf(deps, format, row)).join('');
}

/** Where a page of all events begins: after an event without a place, or before one with a place. */
type Place = { after: AuditRow } | { before: LogPlace | undefined };

const pagesOfAll = (deps: Pick<Deps, 'db'>, filter: AuditFilter) =>
  inPages<Place, AnyRow[]>(async (place, limit) => {
    if (place && 'before' in place) {
      const { rows, next } = await readSealed(deps, { ...filter, before: place.before }, limit, 1);
      return { page: rows, next: next === undefined ? undefined : { before: next } };
    }
    const page = (await searchAllUnsealed(deps.db, filter, limit, place?.after)).map(withoutSequence);
    const last = page.at(-1);
    return { page, next: page.length < limit || !last ? { before: filter.before } : { after: last } };
  });

type AnyRow = AuditRow & { seq: number | null; seal: string | null; part?: string | undefined };

const jsonLine = (row: AnyRow): string => `${JSON.stringify(auditRecord(row))}\n`;

const csvColumns = [
  'seq',
  'at',
  'action',
  'actor',
  'target',
  'reason',
  'before_state',
  'after_state',
  'address',
  'event_id',
  'seal',
] as const satisfies readonly (keyof SealedRow)[];

const isInParts = ({ db }: Pick<Deps, 'db'>): boolean => db.parts.length > 1;

const headingsOf = (deps: Pick<Deps, 'db'>): string =>
  csvRow([...csvColumns, 'request_id', ...(isInParts(deps) ? ['part'] : [])]);

const csvLine = (deps: Pick<Deps, 'db'>, row: AnyRow): string =>
  csvRow([
    ...csvColumns.map((column) => (column === 'at' ? new Date(row.at * 1000).toISOString() : row[column])),
    requestIdOf(row.event_id),
    ...(isInParts(deps) ? [row.part ?? null] : []),
  ]);

const lineOf = (deps: Pick<Deps, 'db'>, format: ExportFormat, row: AnyRow): string =>
  format === 'csv' ? csvLine(deps, row) : jsonLine(row);

/**
 * A moment as typed: Unix seconds, a day, or a day and a time (RFC 3339); UTC unless it says otherwise.
 * @param edge where a day alone is meant: its first second or its last.
 * @returns Unix seconds; undefined if the text is no moment.
 */
export function parseTime(text: string, edge: 'first' | 'last'): number | undefined {
  if (/^\d{1,11}$/.test(text)) return text.length === 8 ? undefined : Number(text); // 20270131 is not from 1970
  const [, day, time = edge === 'first' ? '00:00:00' : '23:59:59', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/i.exec(text) ?? [];
  const at = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return day === undefined || Number.isNaN(at) || !isDay(day) ? undefined : Math.floor(at / 1000);
}

/** For API descriptions: what {@link parseTime} accepts, but for the 29th of February in a year without one. */
export const timePattern = [
  '^([0-9]{1,7}|[0-9]{9,11}',
  '|[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))',
  '([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?)$',
].join('');

/** `Date.parse` takes the 31st of February for the 3rd of March. */
const isDay = (day: string): boolean => {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
};
