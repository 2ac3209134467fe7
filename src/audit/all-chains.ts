import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Db, OneDb, Part } from '../platform/db/db.ts';
import { askAll, compareText, mergeAll, schemaOf } from '../platform/db/parts.ts';
import {
  type AuditFilter,
  type AuditRow,
  type LogPlace,
  type SealedRow,
  searchAuditLog,
  searchUnsealed,
} from './store.ts';

// The log is one chain in each part of the store. It is read as one list: each chain in its order, and of several the newest event first.

/** The part of an event; undefined in a store of one. */
type Named = { part?: string | undefined };

/** Undefined in a store of one part. */
export const nameOfPart = (db: Db, part: OneDb): string | undefined =>
  db.parts.length === 1 ? undefined : schemaOf(part);

function named<Row extends AuditRow>(db: Db, part: OneDb, rows: Row[]): (Row & Named)[] {
  const name = nameOfPart(db, part);
  return name === undefined ? rows : rows.map((row) => ({ ...row, part: name }));
}

type Dated = Pick<AuditRow, 'at' | 'event_id'>;
const newestFirst = (one: Dated, other: Dated): number =>
  other.at - one.at || compareText(other.event_id, one.event_id);

/** As {@link searchUnsealed}. */
export const searchAllUnsealed = (
  db: Db,
  filter: AuditFilter,
  limit: number,
  after?: Dated,
): Promise<(AuditRow & Named)[]> =>
  mergeAll(
    db,
    async (part) => named(db, part, await searchUnsealed(part, { ...filter, before: undefined }, limit, after)),
    newestFirst,
    limit,
  );

/** Of one chain: rows, and the place before which it goes on, if it does. */
export async function readChain(
  part: Part,
  filter: Omit<AuditFilter, 'before'>,
  before: number | undefined,
  limit: number,
  reads: number,
) {
  const rows: SealedRow[] = [];
  let place = before;
  for (let read = 1; ; read += 1) {
    const { rows: found, end } = await searchAuditLog(part, { ...filter, before: place }, limit + 1 - rows.length);
    rows.push(...found);
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.seq };
    if (end === undefined || read >= reads) return { rows, next: end };
    place = end;
    await letOthersRun(); // the embedded store answers without waiting; a request waits for no job's pace
  }
}

type ReadChain = {
  rows: (SealedRow & Named)[];
  next: number | undefined;
  before: number | undefined;
  isAbsent?: true;
};

/** No event is before it. */
const first = 1;
/** Every event is before it. */
const last = 999_999_999_999_999;

/**
 * Newest first. Of several chains no event is before one that is newer, as far as each chain has them in the order of their dates.
 * @param reads bounded reads of each chain.
 */
export async function readSealed(
  { db }: { db: Db },
  filter: AuditFilter,
  limit: number,
  reads: number,
): Promise<{ rows: (SealedRow & Named)[]; next: LogPlace | undefined }> {
  const places = filter.before;
  const placeIn = (part: OneDb): number | undefined => places?.[db.parts.indexOf(part)];
  /** It goes on where it was, on a page that is read once it is back. */
  const absent = (part: OneDb): ReadChain => ({
    rows: [],
    next: undefined,
    before: placeIn(part) ?? last,
    isAbsent: true,
  });
  const ask = async (part: OneDb): Promise<ReadChain> => {
    const before = placeIn(part);
    if (before !== undefined && before <= first) return { rows: [], next: undefined, before };
    const { rows, next } = await readChain(part, filter, before, limit, reads);
    return { rows: named(db, part, rows), next, before: before ?? (rows[0] && rows[0].seq + 1) };
  };
  const chains = await askAll(db, ask, absent);
  const [only] = chains;
  if (only && chains.length === 1) return { rows: only.rows, next: only.next === undefined ? undefined : [only.next] };
  const rows: (SealedRow & Named)[] = [];
  // Behind the last row that was read of a chain there may be a newer one than the others have.
  while (rows.length < limit && !chains.some((chain) => chain.rows.length === 0 && chain.next !== undefined)) {
    const [chain] = chains.filter((one) => one.rows.length > 0).sort((a, b) => newestFirst(a.rows[0]!, b.rows[0]!));
    if (chain === undefined) return { rows, next: undefined };
    const row = chain.rows.shift()!;
    chain.before = row.seq;
    rows.push(row);
  }
  const isOver = chains.every((chain) => chain.rows.length === 0 && chain.next === undefined);
  const next = chains.map((chain) => (chain.rows.length > 0 || chain.isAbsent ? chain.before! : (chain.next ?? first)));
  return { rows, next: isOver ? undefined : next };
}

/** As it stands in a link; in a store of one part a number. */
export const textOfPlace = (place: LogPlace): string => place.join('.');

/** @returns undefined for what no page of this store has given. */
export function placeOfText(db: Db, text: string): LogPlace | undefined {
  const places = /^[1-9]\d{0,14}(?:\.[1-9]\d{0,14})*$/.test(text) ? text.split('.').map(Number) : [];
  return places.length === db.parts.length ? places : undefined;
}
