import { endGroupChange, type GroupChange, groupChanges, membersAfter, moveGroupChange } from '../groups/statements.ts';
import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { isCrowded, isWanted } from './crowded.store.ts';
import { groupSignal, uriOf } from './events.ts';
import { planOne } from './plan-signals.ts';

/** Each is a change of its own streams, so a slice has few. */
const membersInSlice = 50;
/** Seconds for which members wait for a stream that is half full: its receiver may be slow, and others wait behind it. */
const longestWaitSeconds = 3600;
const changesAtOnce = 100;

/**
 * Signals for the members of groups that were renamed or deleted, whose claim has another value by that. In slices: after a kill, or on
 * another node at the same time, a slice that comes again queues nothing twice. Each part goes by itself, so that one that is away keeps no
 * other waiting.
 * @returns false if the signal ended it before all was done.
 */
export async function signalGroupChanges(deps: StoreDeps, signal?: AbortSignal): Promise<boolean> {
  const changes = await groupChanges(deps.db, changesAtOnce);
  const ofParts = [...Map.groupBy(changes, ({ part }) => part).values()];
  return !(await workIn(ofParts, (some) => signalInTurns(deps, some, signal))).includes(false);
}

/** Each change gets a slice before any gets its second one, so that a large group keeps no other waiting. */
async function signalInTurns(deps: StoreDeps, changes: readonly GroupChange[], signal?: AbortSignal): Promise<boolean> {
  let waiting = changes;
  while (waiting.length > 0) {
    const left: GroupChange[] = [];
    const queue = [...waiting];
    // A slice for each.
    const isDone = await inSlices(
      async () => {
        const change = queue.shift();
        if (change === undefined) return 0;
        const next = await sliceOf(deps, change);
        if (next !== undefined) left.push(next);
        return 1;
      },
      signal,
      1,
    );
    if (!isDone) return false;
    waiting = left;
  }
  return true;
}

/** @returns where it goes on in this run; undefined if it is over, or waits for a receiver until the next. */
async function sliceOf(deps: StoreDeps, change: GroupChange): Promise<GroupChange | undefined> {
  const { db } = deps;
  const part: Part | undefined = db.parts.find(({ schema = '' }) => schema === change.part);
  const uri = uriOf('token-claims-change');
  if (part === undefined || !(await isWanted(db, uri))) return void (await endGroupChange(db, change));
  if (now(deps) < change.changed_at + longestWaitSeconds && (await part.holds(isCrowded(uri)))) return undefined;
  const members = await membersAfter(part, change, membersInSlice);
  const signals = members.map(({ user_id }) => planOne(deps, change.event_id, groupSignal(change, user_id)));
  if (signals.length > 0) await part.change({ run: { signals } });
  const last = members.at(-1);
  if (last === undefined || members.length < membersInSlice) return void (await endGroupChange(db, change));
  await moveGroupChange(db, change, last.user_id);
  return { ...change, after_user_id: last.user_id };
}
