import type { Ends, MovedTable, OnMoveProgress } from './ends.ts';
import { MoveRefused } from './refused.ts';

/**
 * Both stores, while neither changes.
 * @param isDeep also reads every row of both.
 * @returns the rows of each table.
 * @throws {MoveRefused} for the first table that differs.
 */
export async function compareStores(
  { source, target }: Ends,
  tables: readonly MovedTable[],
  isDeep: boolean,
  onProgress: OnMoveProgress,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [done, table] of tables.entries()) {
    onProgress({ doing: 'comparing', table: table.name, done, of: tables.length });
    const counted = await Promise.all([source.count(table), target.count(table)]);
    if (counted[0] !== counted[1]) {
      throw new MoveRefused(`${table.name} has ${counted[1]} rows instead of ${counted[0]}. ${howToGoOn}`);
    }
    counts[table.name] = counted[0];
    if (!isDeep) continue;
    const [one, other] = await Promise.all([source.sum(table), target.sum(table)]);
    if (one.sum !== other.sum) throw new MoveRefused(`Rows of ${table.name} differ in the two stores. ${howToGoOn}`);
  }
  return counts;
}

const howToGoOn =
  'The move was not finished. Give it up with signet move --abandon, and begin again with an empty database.';
