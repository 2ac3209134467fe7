import pg from 'pg';

/**
 * Columns as SQLite would give them, so that a store reads the same from both: `bigint` and `numeric` (what `sum`
 * makes of bigints) as number, boolean expressions such as `exists (…)` as 1 and 0. The rest as `pg` does.
 */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

const parsers = new Map<number, (text: string) => number>([
  [pg.types.builtins.INT8, exactInteger],
  [pg.types.builtins.NUMERIC, Number],
  [pg.types.builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
]);

/** @throws {RangeError} rather than round, as `node:sqlite` does. */
function exactInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`A stored integer is too large for a number: ${text}`);
  return number;
}
