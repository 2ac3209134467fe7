import type { Kind } from './costs.ts';

/** What docs/scaling.md assumes of people, with a row or a sentence for each. */
export const people = {
  /** Requests of one person on an average day. */
  perDay: { sign_in: 0.2, authorize: 1, code_exchange: 1, refresh: 10, userinfo: 1, introspect: 1 },
  /** The busiest second beside the average one. */
  peak: 5,
  /** Of the day, when that is. */
  peakHour: 9,
} as const satisfies { perDay: Record<Kind, number>; peak: number; peakHour: number };

const secondsOfDay = 86_400;

/** Requests of a kind in an average second. */
export const average = (count: number, kind: Kind): number => (count * people.perDay[kind]) / secondsOfDay;

const bell = (hour: number, steepness: number): number =>
  ((1 + Math.cos((2 * Math.PI * (hour - people.peakHour)) / 24)) / 2) ** steepness;

/** So steep that the whole day has what its requests are, with that peak. */
const steepness = steepnessFor(1 / people.peak);

function steepnessFor(mean: number): number {
  const meanOf = (steepness: number) => {
    let sum = 0;
    for (let step = 0; step < 24 * 12; step += 1) sum += bell(step / 12, steepness);
    return sum / (24 * 12);
  };
  let [low, high] = [0, 100];
  for (let step = 0; step < 50; step += 1) {
    const middle = (low + high) / 2;
    if (meanOf(middle) > mean) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Beside the average of the day: a bell around its busiest hour. */
export const profile = (hour: number): number => people.peak * bell(hour, steepness);
