import type { Deps } from '../deps.ts';
import { lateBefore } from './chain.ts';
import { chainHead, countUnsealed } from './store.ts';

/** How many events are sealed, wait for their seal, and have waited for it too long. */
export async function logState(deps: Pick<Deps, 'db' | 'clock'>) {
  const head = await chainHead(deps.db);
  const unsealed = await countUnsealed(deps.db, lateBefore(deps, head));
  return { sealed: head?.seq ?? 0, unsealed: unsealed.all, late: unsealed.late };
}
