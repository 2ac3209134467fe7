import { now } from '../../platform/clock.ts';
import { inSlices } from '../../platform/db/slices.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { deleteBulkRevocation, listBulkRevocations } from './bulk-revocations.store.ts';
import { applyBulkRevocation } from './store.ts';

/** Endings looked at in one run; what is left is for the next. */
const perRun = 1000;
/**
 * Seconds. On PostgreSQL a code that was being written at the instant of the end belongs to the epoch before and is seen
 * a moment later. An ending therefore stays for longer than any statement may take.
 */
const keptSeconds = 600;

/**
 * Writes on the rows of grants what has ended them already (decisions §7: every end is on the row, with its reason).
 * Nothing depends on when: until then the gate reads the ending itself. Safe on every node at any time; after a crash
 * the next run goes on.
 */
export async function applyBulkRevocations(deps: StoreDeps, signal?: AbortSignal): Promise<void> {
  for (const ending of await listBulkRevocations(deps.db, perRun)) {
    const isDone = await inSlices((rows) => applyBulkRevocation(deps.db, ending, rows), signal);
    if (!isDone) return;
    if (ending.ended_at < now(deps) - keptSeconds) await deleteBulkRevocation(deps.db, ending);
  }
}
