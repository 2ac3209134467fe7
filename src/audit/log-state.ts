import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { lateAfterSeconds } from './chain.ts';
import { chainHead, countUnsealed } from './store.ts';

/** How many events are sealed, wait for their seal, and have waited for it too long. */
export async function logState(deps: Pick<Deps, 'db' | 'clock'>) {
  const [head, unsealed] = await Promise.all([
    chainHead(deps.db),
    countUnsealed(deps.db, now(deps) - lateAfterSeconds),
  ]);
  return { sealed: head?.seq ?? 0, unsealed: unsealed.all, late: unsealed.late };
}
