import { now } from '../platform/clock.ts';
import type { Writes } from '../platform/db/change.ts';
import type { Part } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { activeKeptDays, keptDays } from './periods.ts';
import { addCount, markActive, moveOn, type Places, purgeActive, purgeCounts, readPlaces } from './store.ts';

/** What is counted of all, and of one client. */
export const kinds = ['sign_in', 'refused', 'sign_up', 'client'] as const;
export const clientKinds = ['sign_in', 'failure'] as const;
type Kind = (typeof kinds)[number] | (typeof clientKinds)[number];

const daySeconds = 86_400;
/** Days since 1970, in UTC. @param at Unix seconds. */
export const dayOf = (at: number): number => Math.floor(at / daySeconds);
/** The number of all accounts: it has no day. */
const accounts = { client_id: '', kind: 'account', day: 0 } as const;
export const accountsChanged = (count: number): Sql => addCount({ ...accounts, count });
export const accountCount = accounts;

/** One failure of a client, in the change that records it. */
export const countFailureOf = (client_id: string, at: number): Sql =>
  addCount({ client_id, kind: 'failure', day: dayOf(at), count: 1 });

/** What a slice has counted. Nothing is kept of days that charts no longer show. */
export class Tally {
  readonly #counts = new Map<string, { client_id: string; kind: Kind; day: number; count: number }>();
  readonly #activeOn = new Map<string, number>();
  readonly #firstDay: number;

  constructor(deps: Pick<StoreDeps, 'clock'>) {
    this.#firstDay = dayOf(now(deps)) - keptDays;
  }

  add(kind: Kind, at: number, { client_id = '', count = 1 }: { client_id?: string; count?: number } = {}): void {
    const day = dayOf(at);
    if (day < this.#firstDay || count === 0) return;
    const counted = this.#counts.getOrInsertComputed(`${client_id} ${kind} ${day}`, () => ({
      client_id,
      kind,
      day,
      count: 0,
    }));
    counted.count += count;
  }

  active(user_id: string, at: number): void {
    const day = dayOf(at);
    if (day >= this.#firstDay) this.#activeOn.set(user_id, Math.max(day, this.#activeOn.get(user_id) ?? 0));
  }

  statements(): Sql[] {
    return [
      // In one order everywhere, so that no two nodes wait for each other's rows.
      ...[...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => addCount(count)),
      ...[...this.#activeOn].flatMap(([user_id, day]) => markActive(user_id, day)),
    ];
  }
}

type Slice = { to: Partial<Places>; counted: readonly Sql[]; isLast: boolean };
type ReadSlice = (places: Places, rows: number) => Promise<Slice | undefined>;

/**
 * Counts a source of one part of the store to its end, a slice at a time: each commits with the place up to which it went, or not at all. Any node
 * may count at any time.
 * @param read the next slice, at most `rows` rows of the source; undefined at its end.
 * @returns false if the signal ended it before all was done.
 */
export function countInSlices({ db }: { db: Part }, read: ReadSlice, signal?: AbortSignal): Promise<boolean> {
  return inSlices(async (rows) => ((await countSlice({ db }, read, rows)) ? 0 : rows), signal);
}

/** As {@link countInSlices}, one slice. @returns whether it was the last one. */
export async function countSlice({ db }: { db: Part }, read: ReadSlice, rows: number): Promise<boolean> {
  const from = await readPlaces(db);
  const slice = from && (await read(from, rows));
  if (!from || !slice) return true;
  const run: Writes = { place: moveOn(from, { ...from, ...slice.to }), counted: slice.counted };
  const done = await db.change({ run });
  return done.ok && slice.isLast; // if another node was first, the next read goes on from there
}

export const purgeDailyCounts = (part: Part, before: number, rows: number) => purgeCounts(part, dayOf(before), rows);
export const purgeActiveUsers = (part: Part, before: number, rows: number) => purgeActive(part, dayOf(before), rows);
export const countsKeptSeconds = keptDays * daySeconds;
export const activeKeptSeconds = activeKeptDays * daySeconds;
