import type { Clock } from '../../platform/clock.ts';

/** After this time, a use counts half. */
const halfLifeMs = 10_000;

/** Above this number, the key whose last use is longest ago is forgotten. */
const maxKeys = 10_000;

/** How often each key was used in the last seconds. */
export function recentUses(monotonic: Clock) {
  const uses = new Map<string, { amount: number; at: number }>();

  function amountOf(key: string): number {
    const use = uses.get(key);
    return use === undefined ? 0 : use.amount * 2 ** ((use.at - monotonic()) / halfLifeMs);
  }

  return {
    /** A whole number: those who used it once some time ago, and those who never did, are equal. */
    of: (key: string): number => Math.round(amountOf(key)),
    count(key: string): void {
      const use = { amount: amountOf(key) + 1, at: monotonic() };
      uses.delete(key);
      uses.set(key, use);
      const [oldest] = uses.keys();
      if (uses.size > maxKeys && oldest !== undefined) uses.delete(oldest);
    },
  };
}
