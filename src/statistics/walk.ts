import { now } from '../platform/clock.ts';
import type { Writes } from '../platform/db/change.ts';
import type { Part } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { beginWalk, findWalk, goOn, type Walk } from './store.ts';

type WalkDeps = Pick<StoreDeps, 'clock'> & { db: Part };

/** A slice of a walk: `to.after_id` is null when it was the last one. */
type Step = { rows: number; to: Partial<Walk>; run: readonly Sql[] };

/**
 * Counts rows of a part of the store by their ids, in slices that each commit with the place up to which they went: it takes as many turns as it
 * needs, on any node.
 * @param of.isOver whether a walk that has ended is to begin anew, by when it began.
 * @returns false if the signal ended it before all was done.
 */
export async function walk(
  deps: WalkDeps,
  of: {
    name: string;
    isOver(began_at: number): boolean;
    step(from: Walk & { after_id: string }, rows: number): Promise<Step>;
  },
  { signal, most }: { signal?: AbortSignal | undefined; most?: number } = {},
): Promise<boolean> {
  const { db } = deps;
  const known = await findWalk(db, of.name);
  if (known === undefined || known.after_id === null) {
    if (known !== undefined && !of.isOver(known.began_at)) return true;
    const first = { name: of.name, began_at: now(deps), after_id: '', users: 0, second_factor: 0, passkeys: 0 };
    await db.change({ run: { begun: beginWalk(first, known) } });
  }
  return inSlices(
    async (rows) => {
      const from = await findWalk(db, of.name);
      if (from === undefined || from.after_id === null) return 0; // another node was faster
      const step = await of.step({ ...from, after_id: from.after_id }, rows);
      const run: Writes = { place: goOn(from, { ...from, ...step.to }), counted: step.run };
      await db.change({ run });
      return step.rows;
    },
    signal,
    most,
  );
}
