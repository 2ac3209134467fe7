/**
 * How often a race or a crash is tried. A fault in the store's conditions shows in the first rounds. For a
 * change of one, or a fault that shows seldom, TEST_ROUNDS multiplies them.
 */
export const repeated = (times: number): number => times * Number(process.env.TEST_ROUNDS ?? 1);
