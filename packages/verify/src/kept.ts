/** A value from the issuer: fetched when it is needed, kept while it is fresh, used for a while longer if that fails. */
export type Kept<Value> = {
  /** @throws what loading threw, if there is no value that may still be used. */
  get(): Promise<Value>;
  /**
   * A newer value than the one seen, if there is one. Unauthenticated requests cause this, so it loads at most once per
   * cooldown. @throws what loading threw, also in the cooldown after it.
   */
  renew(seen: Value): Promise<Value>;
};

type Keeping<Value> = {
  load: () => Promise<{ value: Value; seconds: number }>;
  /** Milliseconds. */
  now: () => number;
  cooldownSeconds: number;
  maxStaleSeconds: number;
};

/** Between two attempts while there is nothing to fall back on. */
const secondsBetweenFirstAttempts = 2;

export function keep<Value>({ load, now, cooldownSeconds, maxStaleSeconds }: Keeping<Value>): Kept<Value> {
  let held: { value: Value; at: number; seconds: number } | undefined;
  let failed: { error: unknown; at: number } | undefined;
  let loading: Promise<Value> | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;

  // A clock that is set back must not prolong anything, so what seems to lie in the future is as old as it is far away.
  const secondsSince = (at: number) => Math.abs(now() - at) / 1000;
  const isFresh = () => held !== undefined && secondsSince(held.at) < held.seconds;
  const isUsable = () => held !== undefined && secondsSince(held.at) < held.seconds + maxStaleSeconds;

  async function loadNow(): Promise<Value> {
    try {
      const { value, seconds } = await load();
      held = { value, seconds, at: now() };
      failed = undefined;
      return value;
    } catch (error) {
      failed = { error, at: now() };
      throw error;
    }
  }
  /** All callers share one request. */
  function loadOnce(): Promise<Value> {
    loading ??= loadNow().finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    async get() {
      if (held && isFresh()) return held.value;
      if (failed) {
        const isPaused = secondsSince(failed.at) < (isUsable() ? cooldownSeconds : secondsBetweenFirstAttempts);
        if (!isPaused && isUsable()) void loadOnce().catch(() => undefined); // in the background: the issuer did not answer the last time
        if (held && isUsable()) return held.value;
        if (isPaused) throw failed.error;
      }
      try {
        return await loadOnce();
      } catch (error) {
        if (held && isUsable()) return held.value;
        throw error;
      }
    },
    async renew(seen) {
      if (held && held.value !== seen) return held.value;
      if (secondsSince(renewedAt) >= cooldownSeconds) {
        renewedAt = now();
        return loadOnce();
      }
      if (loading) return loading;
      if (failed) throw failed.error;
      return seen;
    },
  };
}
