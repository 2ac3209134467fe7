import { now } from '../platform/clock.ts';
import type { OneDb } from '../platform/db/db.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { accountCount, dayOf } from './daily-counts.ts';
import { type Period, periods } from './periods.ts';
import { countsSince, type DailyCount, keepCounts } from './store.ts';

/**
 * What a day began with. Neither follows from counts of days: accounts are deleted, and a user who was active again is no
 * longer counted on the day before.
 */
export const totalKinds = ['accounts', ...periods.map((days) => `active_${days}` as const)] as const;
export type TotalKind = (typeof totalKinds)[number];
export const activeIn = (days: Period) => `active_${days}` as const;

export type Totals = Record<TotalKind, number>;

/** @param lastDay the last of the days in which users are active: today, or yesterday when a day has just begun. */
export async function readTotals(deps: StoreDeps, lastDay = dayOf(now(deps))): Promise<Totals> {
  const [accounts, active] = await Promise.all([
    countsSince(deps.db, '', [accountCount.kind], accountCount.day),
    countsSince(deps.db, '', ['last_active'], lastDay - Math.max(...periods) + 1),
  ]);
  const activeSince = (day: number) => active.reduce((sum, row) => (row.day >= day ? sum + row.count : sum), 0);
  return {
    accounts: accounts[0]?.count ?? 0,
    ...(Object.fromEntries(periods.map((days) => [activeIn(days), activeSince(lastDay - days + 1)])) as Record<
      ReturnType<typeof activeIn>,
      number
    >),
  };
}

/** Of a part of the store, once a day, when it has begun and all before is counted. A clock that is wrong would take the place of the right one's day for good. */
export async function keepTotals(deps: Pick<Deps, 'clock' | 'timekeeper'> & { db: OneDb }): Promise<void> {
  const day = dayOf(now(deps));
  if (!deps.timekeeper.isSettled()) return;
  if ((await countsSince(deps.db, '', ['accounts'], day)).length > 0) return;
  const totals = await readTotals(deps, day - 1);
  const counts: DailyCount[] = totalKinds.map((kind) => ({ client_id: '', kind, day, count: totals[kind] }));
  await deps.db.change({ run: { counts: keepCounts(counts) } });
}
