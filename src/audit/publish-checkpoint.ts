import { now } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import type { Deps } from '../platform/deps.ts';
import { lateThreshold } from './chain.ts';
import { chainHead, countUnsealed } from './store.ts';

const everySeconds = 3600;
const toldAt = new WeakMap<Db, number>();

/**
 * Once an hour the newest place of the chain goes to the process's own log, which whoever can write the database cannot
 * take back: `audit verify --expect` compares. Events that claim to be from long ago are told of each time.
 */
export async function publishCheckpoint(deps: Pick<Deps, 'db' | 'clock' | 'log'>): Promise<void> {
  const head = await chainHead(deps.db);
  if (!head) return;
  const { late } = await countUnsealed(deps.db, lateThreshold(deps, head));
  if (late > 0) deps.log.error({ unsealed_late: late }, 'the audit log holds events that came too late to be sealed');
  const last = toldAt.get(deps.db);
  if (last !== undefined && now(deps) - last < everySeconds) return;
  toldAt.set(deps.db, now(deps));
  deps.log.info({ expect: `${head.seq}:${head.seal}` }, 'head of the audit log');
}
