/** Milliseconds since the Unix epoch. Handed in so that a test can move it. */
export type Clock = () => number;

/** Unix seconds, the unit of every stored time. */
export const now = (deps: { clock: Clock }): number => Math.floor(deps.clock() / 1000);
