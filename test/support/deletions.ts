import { finishClientDeletions } from '../../src/oauth/cleanup.ts';
import type { Deps } from '../../src/platform/deps.ts';
import { finishAccountDeletions } from '../../src/self-service/delete-account/delete-account.ts';

/**
 * For a test that looks at what belonged to deleted clients and users: in a store of one part it has gone with them, in several parts a
 * job deletes it.
 */
export async function finishDeletions(deps: Pick<Deps, 'db' | 'clock'>): Promise<void> {
  if (deps.db.parts.length === 1) return;
  await finishClientDeletions(deps);
  await finishAccountDeletions(deps);
}
