import type { Clock } from '../../platform/clock.ts';

/** A user waits no longer for the hashes of others. A check that takes longer can be recognized by its time. */
const longestWaitMs = 1_000;
/** Without a hash of another product for so long, no answer waits for the time of one. */
const rememberedMs = 24 * 60 * 60 * 1000;

/**
 * Makes answers to passwords take the same time, whichever product has made the hash; see decision 57. After a check that was
 * quicker than others have lately been, `rest` is what is left of their time, in milliseconds.
 */
export function evenTimes(monotonic: Clock) {
  /** Milliseconds. The longest of late: each shorter one takes an eighth of what it is more. */
  const longest = { today: 0, other: 0 };
  let otherAt: number | undefined;

  return async (check: () => Promise<boolean>, isToday: boolean) => {
    const startedAt = monotonic();
    const isRight = await check();
    const endedAt = monotonic();
    const ms = endedAt - startedAt;
    const kind = isToday ? 'today' : 'other';
    longest[kind] = Math.max(ms, longest[kind] - (longest[kind] - ms) / 8);
    if (!isToday) otherAt = endedAt;
    const isRemembered = otherAt !== undefined && endedAt - otherAt < rememberedMs;
    const target = isRemembered ? Math.min(Math.max(longest.today, longest.other), longestWaitMs) : 0;
    return { isRight, rest: Math.max(target - ms, 0) };
  };
}
