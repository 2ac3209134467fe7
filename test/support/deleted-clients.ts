import { finishClientDeletions } from '../../src/oauth/cleanup.ts';
import type { Deps } from '../../src/platform/deps.ts';

/**
 * For a test that looks at what belonged to a deleted client: in a store of one part a foreign key has deleted it with its client, in several
 * parts a job does.
 */
export async function deletedWithClients(deps: Pick<Deps, 'db' | 'clock'>): Promise<void> {
  if (deps.db.parts.length > 1) await finishClientDeletions(deps);
}
