/**
 * How often a race or a crash is tried. A fault in the store's conditions shows in the first rounds; whoever changes one,
 * or looks for a fault that shows seldom, runs TEST_ROUNDS times as many.
 */
export const repeated = (times: number): number => times * Number(process.env.TEST_ROUNDS ?? 1);
