import type { Deps } from '../audit/deps.ts';
import { refusedSince } from '../audit/unauthenticated.ts';
import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { sumOfAll } from '../platform/db/parts.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { countForPage } from './count-events.ts';
import { clientKinds, dayOf, kinds } from './daily-counts.ts';
import type { Period } from './periods.ts';
import type { SignInCounter } from './sign-in-counter.ts';
import { countsOnDays, countsSince, type DailyCount, firstCountedDay, readPlaces } from './store.ts';
import { activeIn, readTotals, type TotalKind, totalKinds } from './totals.ts';

/** A number, and what it was in the period before; undefined where that is not known. */
export type Change = { readonly now: number; readonly before: number | undefined };

/**
 * A count for each day of the period, oldest first; `firstDay` as days since 1970 in UTC. The last one is today. `change` is of as many
 * whole days: those before today, which is not over, and those before them.
 */
export type Days = { readonly firstDay: number; readonly counts: number[]; readonly change: Change };

/** The days of a chart, and from which day on anything is known. */
type Range = { readonly days: Period; readonly firstDay: number; readonly countedSince: number };

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);

function daysOf(rows: readonly DailyCount[], kind: string, { days, firstDay, countedSince }: Range): Days {
  const counts = Array<number>(2 * days + 1).fill(0);
  const first = firstComparedDay(firstDay, days);
  for (const row of rows) {
    const place = row.day - first;
    if (row.kind === kind && place >= 0 && place < counts.length) counts[place] = row.count;
  }
  const before = countedSince <= first ? sum(counts.slice(0, days)) : undefined;
  return { firstDay, counts: counts.slice(-days), change: { now: sum(counts.slice(days, -1)), before } };
}

const firstDayOf = (deps: StoreDeps, days: Period): number => dayOf(now(deps)) - days + 1;
/** Of two periods that end yesterday. @param firstDay of one that ends today. */
const firstComparedDay = (firstDay: number, days: Period): number => firstDay - days - 1;

/** What charts of a period have in common. */
export type Shown = {
  readonly days: Period;
  /** The first day that anything is known of, if what is compared begins before it. */
  readonly countedSince: number | undefined;
};

const shownOf = ({ days, firstDay, countedSince }: Range): Shown => ({
  days,
  countedSince: countedSince > firstComparedDay(firstDay, days) ? countedSince : undefined,
});

/** Of a period until now, or until `countedUntil` while the jobs have much to count. */
export async function readStatistics(deps: StoreDeps & Pick<Deps, 'auditLog'>, days: Period = 30) {
  const countedUntil = await countForPage(deps);
  const firstDay = firstDayOf(deps, days);
  const [rows, kept, totals, notCounted, counted] = await Promise.all([
    countsSince(deps.db, '', kinds, firstComparedDay(firstDay, days)),
    countsOnDays(deps.db, totalKinds, firstDay, firstDayOf(deps, 7)),
    readTotals(deps),
    sumOfAll(deps.db, (part) => refusedSinceCount(deps, part)),
    firstCountedDay(deps.db),
  ]);
  const range: Range = { days, firstDay, countedSince: counted ?? dayOf(now(deps)) };
  const refused = daysOf(rows, 'refused', range);
  // The hours that no job has counted yet. They may be of yesterday, which shows once they are counted.
  refused.counts[days - 1]! += notCounted;
  const since = (kind: TotalKind, ago: Period): Change => ({
    now: totals[kind],
    before: kept.find((one) => one.kind === kind && one.day === firstDayOf(deps, ago))?.count,
  });
  const activeDays: readonly Period[] = days === 7 ? [7] : [7, days];
  return {
    ...shownOf(range),
    countedUntil,
    signIns: daysOf(rows, 'sign_in', range),
    refused,
    signUps: daysOf(rows, 'sign_up', range),
    clients: daysOf(rows, 'client', range),
    users: {
      all: since('accounts', days),
      active: activeDays.map((one) => ({ days: one, ...since(activeIn(one), one) })),
    },
  };
}

/** In the hours of a part that are not counted yet. */
async function refusedSinceCount(deps: StoreDeps, part: Part): Promise<number> {
  const places = await readPlaces(part);
  return refusedSince(part, Math.max(places?.hour ?? 0, now(deps) - 7200));
}

/** Its sign-ins at this node are counted until now, and those at other nodes until a minute ago. */
type ClientDeps = StoreDeps & { signInCounter: SignInCounter };

/** Sign-ins and recorded failures of one client, for its owner and administrators. */
export async function readClientStatistics(
  deps: ClientDeps,
  { client_id, created_at }: { client_id: string; created_at: number },
  days: Period = 30,
) {
  await deps.signInCounter.flush();
  const firstDay = firstDayOf(deps, days);
  const [rows, counted] = await Promise.all([
    countsSince(deps.db, client_id, clientKinds, firstComparedDay(firstDay, days)),
    firstCountedDay(deps.db),
  ]);
  const range = { days, firstDay, countedSince: Math.max(dayOf(created_at), counted ?? dayOf(now(deps))) };
  return {
    ...shownOf(range),
    signIns: daysOf(rows, 'sign_in', range),
    failures: daysOf(rows, 'failure', range),
  };
}
export type ClientStatistics = Awaited<ReturnType<typeof readClientStatistics>>;

/** In the last seven days, today among them. */
export async function readClientWeek(
  deps: ClientDeps,
  client_id: string,
): Promise<{ signIns: number; failures: number }> {
  await deps.signInCounter.flush();
  const rows = await countsSince(deps.db, client_id, clientKinds, dayOf(now(deps)) - 6);
  const sumOf = (kind: string) => rows.reduce((total, row) => (row.kind === kind ? total + row.count : total), 0);
  return { signIns: sumOf('sign_in'), failures: sumOf('failure') };
}
export type ClientWeek = Awaited<ReturnType<typeof readClientWeek>>;
