import type { Contender } from './contender.ts';
import { type Load, run } from './load.ts';
import { othersBetween, partsBetween, partTimes, type Window } from './parts.ts';

/** Sends the requests, and says what they took, without the opening of connections. */
export async function measureWindow(contender: Contender, load: Load): Promise<Window> {
  let before = partTimes(contender);
  const onReady = () => {
    before = partTimes(contender);
  };
  const rate = await run(contender.address, { ...load, onReady });
  const after = partTimes(contender);
  return { rate, parts: partsBetween(before, after, load.count), others: othersBetween(before, after) };
}
