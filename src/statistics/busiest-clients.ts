import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { dayOf } from './daily-counts.ts';
import { type Period, periods } from './periods.ts';
import type { SignInCounter } from './sign-in-counter.ts';
import { busiestOf, clientsWithSignIns, findWalk, hasFewClients, sumSignIns, sumsOfClients } from './store.ts';
import { walk } from './walk.ts';

const name = 'clients';
const everySeconds = 3600;
/** Each is up to two years of counts. */
const clientsInSlice = 20;
/** So many are summed for a page. */
const fewClients = 25;

type PartDeps = Pick<StoreDeps, 'clock'> & { db: Part };

/** Sums the sign-ins at each client in a part of the store for each period, once an hour. */
export function sumClients(deps: PartDeps, signal?: AbortSignal): Promise<boolean> {
  const at = now(deps);
  return walk(
    deps,
    {
      name,
      isOver: (began_at) => Math.abs(at - began_at) >= everySeconds,
      async step({ after_id: after }, rows) {
        const found = await clientsWithSignIns(deps.db, after, rows);
        const last = found.at(-1)?.client_id;
        const run = last === undefined ? [] : sumSignIns({ after, last }, dayOf(now(deps)), periods);
        return { rows: found.length, to: { after_id: found.length < rows ? null : (last ?? null) }, run };
      },
    },
    { signal, most: clientsInSlice },
  );
}

async function sumFew(deps: PartDeps): Promise<boolean> {
  if (!(await hasFewClients(deps.db, fewClients))) return false;
  const found = await clientsWithSignIns(deps.db, '', fewClients + 1);
  if (found.length > fewClients) return false; // many were deleted
  const last = found.at(-1)?.client_id;
  if (last === undefined) return true;
  await deps.db.change({ run: { sums: sumSignIns({ after: '', last }, dayOf(now(deps)), periods) } });
  return true;
}

export type BusiestClients = {
  readonly clients: readonly { client_id: string; signIns: number }[];
  /** Unix seconds of the count; undefined: it is of now. */
  readonly countedAt: number | undefined;
};

/**
 * The clients with most sign-ins in the last days, today among them. Of a store in parts they are found among those that are busiest in one of
 * them. A client that was deleted may be among them.
 */
export async function busiestClients(
  deps: StoreDeps & { signInCounter: SignInCounter },
  days: Period,
  limit: number,
): Promise<BusiestClients> {
  await deps.signInCounter.flush();
  const counted = await askAll(deps.db, async (part) =>
    (await sumFew({ clock: deps.clock, db: part })) ? undefined : ((await findWalk(part, name))?.began_at ?? 0),
  );
  const times = counted.filter((one) => one !== undefined);
  let found = (await askAll(deps.db, (part) => busiestOf(part, days, limit))).flat();
  if (deps.db.parts.length > 1) {
    const ids = [...new Set(found.map(({ client_id }) => client_id))];
    found = ids.length === 0 ? [] : (await askAll(deps.db, (part) => sumsOfClients(part, ids, days))).flat();
  }
  const sums = new Map<string, number>();
  for (const { client_id, count } of found) sums.set(client_id, (sums.get(client_id) ?? 0) + count);
  const clients = [...sums].map(([client_id, signIns]) => ({ client_id, signIns }));
  clients.sort((one, other) => other.signIns - one.signIns);
  return { clients: clients.slice(0, limit), countedAt: times.length === 0 ? undefined : Math.min(...times) };
}
