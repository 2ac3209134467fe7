import { now } from '../platform/clock.ts';
import type { StoreDeps } from '../platform/deps.ts';
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

/** As of now. */
export async function readTotals(deps: StoreDeps): Promise<Totals> {
  const today = dayOf(now(deps));
  const [accounts, active] = await Promise.all([
    countsSince(deps.db, '', [accountCount.kind], accountCount.day),
    countsSince(deps.db, '', ['last_active'], today - Math.max(...periods) + 1),
  ]);
  const activeSince = (day: number) => active.reduce((sum, row) => (row.day >= day ? sum + row.count : sum), 0);
  return {
    accounts: accounts[0]?.count ?? 0,
    ...(Object.fromEntries(periods.map((days) => [activeIn(days), activeSince(today - days + 1)])) as Record<
      ReturnType<typeof activeIn>,
      number
    >),
  };
}

/** Once a day, when it has begun and all before is counted. */
export async function keepTotals(deps: StoreDeps): Promise<void> {
  const day = dayOf(now(deps));
  if ((await countsSince(deps.db, '', ['accounts'], day)).length > 0) return;
  const totals = await readTotals(deps);
  const counts: DailyCount[] = totalKinds.map((kind) => ({ client_id: '', kind, day, count: totals[kind] }));
  await deps.db.change({ run: { counts: keepCounts(counts) } });
}
