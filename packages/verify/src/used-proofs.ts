/** Where proofs are remembered that were used: each is accepted once (RFC 9449 §11.1). */
export type UsedProofs = {
  /**
   * Remembers a key and says whether it is new, in one step: of two calls at once with one key, a single one gets `true`. Where several
   * processes answer for one API they have to share it, such as by Redis: `SET key 1 NX EX …`.
   * @param key 43 characters of base64url.
   * @param expiresAt Unix seconds, a few minutes ahead at most; the key may be forgotten then, and not before.
   */
  use(key: string, expiresAt: number): boolean | Promise<boolean>;
};

/**
 * Keeps them in the memory of one process, and no more than `size`.
 *
 * When there are more, those that would expire first are forgotten, and from then on whatever would expire as early is
 * refused, as if it had been used: so a flood makes the window narrower, and no proof is accepted twice.
 * @param now milliseconds.
 */
export function usedProofsInMemory({
  size = 100_000,
  now = Date.now,
}: {
  size?: number;
  now?: () => number;
} = {}): UsedProofs {
  const bySecond = new Map<number, Set<string>>();
  let kept = 0;
  let forgotten = Number.NEGATIVE_INFINITY;
  const forget = (second: number) => {
    kept -= bySecond.get(second)?.size ?? 0;
    bySecond.delete(second);
    forgotten = Math.max(forgotten, second); // also when it is past: a clock that is set back must not make it new again
  };
  return {
    use(key, expiresAt) {
      const second = Math.ceil(expiresAt);
      for (const past of bySecond.keys()) if (past < now() / 1000) forget(past);
      if (second <= forgotten) return false;
      const keys = bySecond.get(second) ?? new Set();
      if (keys.has(key)) return false;
      bySecond.set(second, keys.add(key));
      kept += 1;
      while (kept > size) forget(Math.min(...bySecond.keys()));
      return true;
    },
  };
}
