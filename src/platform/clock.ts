/** Milliseconds since the Unix epoch. Handed in so that a test can move it. */
export type Clock = () => number;

/** Whether there is a date for it (ECMA-262 §21.4.1.1). @param at Unix seconds. */
export const isInCalendar = (at: number): boolean => Math.abs(at) <= latestDate;

/** Unix seconds. */
export const latestDate = 8_640_000_000_000;

/** Unix seconds, the unit of every stored time. */
export const now = (deps: { clock: Clock }): number => Math.floor(deps.clock() / 1000);
