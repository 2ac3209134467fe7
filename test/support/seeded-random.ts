import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';

export type Random = {
  /** A whole number from 0 to `below`, exclusive. */
  below(limit: number): number;
  pick<Value>(values: readonly Value[]): Value;
  /** True so often of 100. */
  percent(chance: number): boolean;
};

/** Chance that can be had again: the seed is printed, and TEST_SEED sets it. */
export function seededRandom(t: TestContext): Random {
  const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`TEST_SEED=${seed}`);
  return randomOf(seed);
}

/** The same numbers for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed;
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (values) => values[below(values.length)]!,
    percent: (chance) => below(100) < chance,
  };
}
