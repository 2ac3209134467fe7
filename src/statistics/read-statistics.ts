import type { Deps } from '../audit/deps.ts';
import { refusedSince } from '../audit/unauthenticated.ts';
import { now } from '../platform/clock.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { countForPage } from './count-events.ts';
import { accountCount, clientKinds, dayOf, kinds } from './daily-counts.ts';
import type { SignInCounter } from './sign-in-counter.ts';
import { countsSince, readPlaces } from './store.ts';

/** Days on a chart, today among them. */
const chartDays = 30;

/** A count for each day, oldest first; `firstDay` as days since 1970 in UTC. */
export type Days = { firstDay: number; counts: number[] };

type Rows = Awaited<ReturnType<typeof countsSince>>;

function daysOf(rows: Rows, kind: string, firstDay: number): Days {
  const counts = Array<number>(chartDays).fill(0);
  for (const row of rows) {
    const place = row.day - firstDay;
    if (row.kind === kind && place >= 0 && place < chartDays) counts[place] = row.count;
  }
  return { firstDay, counts };
}

const firstDayOf = (deps: StoreDeps): number => dayOf(now(deps)) - chartDays + 1;

/** Of the last thirty days until now, or until `countedUntil` while the jobs have much to count. */
export async function readStatistics(deps: StoreDeps & Pick<Deps, 'auditLog'>) {
  const countedUntil = await countForPage(deps);
  const firstDay = firstDayOf(deps);
  const today = chartDays - 1;
  const [rows, totals, places] = await Promise.all([
    countsSince(deps.db, '', [...kinds, 'last_active'], firstDay),
    countsSince(deps.db, '', [accountCount.kind], accountCount.day),
    readPlaces(deps.db),
  ]);
  const refused = daysOf(rows, 'refused', firstDay);
  // The hours that no job has counted yet. They may be of yesterday, which shows once they are counted.
  refused.counts[today]! += await refusedSince(deps.db, Math.max(places?.hour ?? 0, now(deps) - 7200));
  const lastActive = daysOf(rows, 'last_active', firstDay).counts;
  const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
  return {
    countedUntil,
    signIns: daysOf(rows, 'sign_in', firstDay),
    refused,
    signUps: daysOf(rows, 'sign_up', firstDay),
    clients: daysOf(rows, 'client', firstDay),
    users: { all: totals[0]?.count ?? 0, active7: sum(lastActive.slice(-7)), active30: sum(lastActive) },
  };
}
export type Statistics = Awaited<ReturnType<typeof readStatistics>>;

/** Its sign-ins at this node are counted until now, and those at other nodes until a minute ago. */
type ClientDeps = StoreDeps & { signInCounter: SignInCounter };

/** Sign-ins and recorded failures of one client, for its owner and administrators. */
export async function readClientStatistics(deps: ClientDeps, client_id: string) {
  await deps.signInCounter.flush();
  const firstDay = firstDayOf(deps);
  const rows = await countsSince(deps.db, client_id, clientKinds, firstDay);
  return { signIns: daysOf(rows, 'sign_in', firstDay), failures: daysOf(rows, 'failure', firstDay) };
}
/** In the last seven days, today among them. */
export async function readClientWeek(
  deps: ClientDeps,
  client_id: string,
): Promise<{ signIns: number; failures: number }> {
  await deps.signInCounter.flush();
  const rows = await countsSince(deps.db, client_id, clientKinds, dayOf(now(deps)) - 6);
  const sumOf = (kind: string) => rows.reduce((sum, row) => (row.kind === kind ? sum + row.count : sum), 0);
  return { signIns: sumOf('sign_in'), failures: sumOf('failure') };
}
export type ClientWeek = Awaited<ReturnType<typeof readClientWeek>>;

export type ClientStatistics = Awaited<ReturnType<typeof readClientStatistics>>;
