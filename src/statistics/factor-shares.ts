import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { OneDb, Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { dayOf } from './daily-counts.ts';
import type { Period } from './periods.ts';
import { keepCounts, newestCounts } from './store.ts';
import { walk } from './walk.ts';

/** Of users: how many there are, and how many of them have a second factor, and a passkey. */
type FactorCounts = { readonly users: number; readonly second_factor: number; readonly passkeys: number };

/** Counts the next users by their id, at most `rows`. It is of a room above this one. */
export type CountFactors = (part: Part, after: string, rows: number) => Promise<FactorCounts & { last: string | null }>;

/** In daily_counts: what a day began with. */
const kinds = ['factor_users', 'second_factor', 'passkeys'] as const;

/** Counts the users of a part, once a day, for the comparison with later days. A clock that is wrong would take the place of the right one's day for good. */
export async function keepFactorShares(
  deps: Pick<Deps, 'clock' | 'timekeeper'> & { db: OneDb },
  countFactors: CountFactors,
  signal?: AbortSignal,
): Promise<boolean> {
  if (!deps.timekeeper.isSettled()) return true;
  const today = dayOf(now(deps));
  return walk(
    deps,
    {
      name: 'factors',
      isOver: (began_at) => dayOf(began_at) < today,
      async step(from, rows) {
        const some = await countFactors(deps.db, from.after_id, rows);
        const counts = {
          users: from.users + some.users,
          second_factor: from.second_factor + some.second_factor,
          passkeys: from.passkeys + some.passkeys,
        };
        const isLast = some.users < rows;
        const after_id = isLast ? null : some.last;
        return { rows: some.users, to: { ...counts, after_id }, run: isLast ? kept(dayOf(from.began_at), counts) : [] };
      },
    },
    { signal },
  );
}

const kept = (day: number, { users, ...others }: FactorCounts) =>
  keepCounts(
    Object.entries({ factor_users: users, ...others }).map(([kind, count]) => ({ client_id: '', kind, day, count })),
  );

/** Users of a part that are counted for a page; of more, it shows what the day began with. */
const countedForPage = 1000;

/** A share now, as `part` of `whole`, and as a fraction when the period began; undefined where that is not known. */
export type Share = { readonly part: number; readonly whole: number; readonly before: number | undefined };
export type FactorShares = { readonly secondFactor: Share; readonly passkeys: Share };

/** Undefined while nothing is counted. */
export async function readFactorShares(
  deps: StoreDeps,
  days: Period,
  countFactors: CountFactors,
): Promise<FactorShares | undefined> {
  const today = dayOf(now(deps));
  const [present, past] = await Promise.all([
    inAll(deps, async (part) => (await countFew(part, countFactors)) ?? (await countsAt(part, today))),
    inAll(deps, (part) => countsAt(part, today - days + 1)),
  ]);
  if (present === undefined || present.users === 0) return undefined;
  const share = (kind: 'second_factor' | 'passkeys'): Share => ({
    part: present[kind],
    whole: present.users,
    before: past === undefined || past.users === 0 ? undefined : past[kind] / past.users,
  });
  return { secondFactor: share('second_factor'), passkeys: share('passkeys') };
}

async function countFew(part: Part, countFactors: CountFactors): Promise<FactorCounts | undefined> {
  const counts = await countFactors(part, '', countedForPage + 1);
  return counts.users > countedForPage ? undefined : counts;
}

async function countsAt(part: Part, day: number): Promise<FactorCounts | undefined> {
  const found = await newestCounts(part, kinds, day);
  if (found.length < kinds.length) return undefined;
  const of = (kind: (typeof kinds)[number]) => found.find((one) => one.kind === kind)?.count ?? 0;
  return { users: of('factor_users'), second_factor: of('second_factor'), passkeys: of('passkeys') };
}

/** Undefined where one of the parts does not know. */
async function inAll(
  { db }: Pick<StoreDeps, 'db'>,
  ask: (part: Part) => Promise<FactorCounts | undefined>,
): Promise<FactorCounts | undefined> {
  const all = (await askAll(db, ask)).filter((one) => one !== undefined);
  if (all.length < db.parts.length) return undefined;
  const sum = (kind: keyof FactorCounts) => all.reduce((total, one) => total + one[kind], 0);
  return { users: sum('users'), second_factor: sum('second_factor'), passkeys: sum('passkeys') };
}
