import { type ChainFault, findLoss, lateThreshold } from './chain.ts';
import type { Deps } from './deps.ts';
import { chainHead, countUnsealed } from './store.ts';

export type LogState = {
  /** How many events are sealed, wait for their seal, and have waited for it too long. */
  sealed: number;
  unsealed: number;
  late: number;
  /** What stops the sealing, and with it the webhooks. */
  lost: ChainFault | undefined;
};

export async function logState(deps: Pick<Deps, 'db' | 'clock' | 'vault' | 'witness'>): Promise<LogState> {
  const lost = await findLoss(deps);
  const head = await chainHead(deps.db);
  const unsealed = await countUnsealed(deps.db, lateThreshold(deps, head));
  return { sealed: head?.seq ?? 0, unsealed: unsealed.all, late: unsealed.late, lost };
}
