import { setTimeout as sleep } from 'node:timers/promises';
import {
  digestOf,
  type End,
  type Ends,
  keyOf,
  type MovedTable,
  type OnMoveProgress,
  type Row,
  textOf,
} from './ends.ts';
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
    counts[table.name] = target.isAsBefore(table)
      ? await compareAll({ source, target }, table, isDeep)
      : await compareEach({ source, target }, table, isDeep);
  }
  return counts;
}

/** Of a table whose rows are in one part each, as they were. @returns how many they are. */
async function compareAll({ source, target }: Ends, table: MovedTable, isDeep: boolean): Promise<number> {
  const parts = target.partsOf(table);
  const [before, ...counted] = await Promise.all([source.count(table), ...parts.map((part) => part.count(table))]);
  refuseUnlessAsMany(
    table,
    before,
    counted.reduce((sum, one) => sum + one, 0),
  );
  for (const copy of target.copiesOf(table)) await waitForCopy(copy, table, before);
  if (!isDeep) return before;
  const [one, ...others] = await Promise.all([source.sum(table), ...parts.map((part) => part.sum(table))]);
  refuseUnlessSame(
    table,
    one.sum,
    others.reduce((sum, other) => sum + other.sum, 0n),
  );
  for (const copy of target.copiesOf(table)) refuseUnlessSame(table, one.sum, (await copy.sum(table)).sum);
  return before;
}

/** For which the rest of what a server follows may take: it has followed since the copying began. */
const [looks, pauseMs] = [600, 100];

async function waitForCopy(copy: End, table: MovedTable, rows: number): Promise<void> {
  for (let look = 1; look < looks && (await copy.count(table)) !== rows; look += 1) await sleep(pauseMs);
  refuseUnlessAsMany(table, rows, await copy.count(table));
}

/** Of a table with rows in several parts: reads what each part has to have. */
async function compareEach({ source, target }: Ends, table: MovedTable, isDeep: boolean): Promise<number> {
  const expected = new Map(target.partsOf(table).map((part) => [part, { rows: 0, sum: 0n }]));
  let before = 0;
  let rows: Row[] = [];
  do {
    const last = rows.at(-1);
    rows = await source.rowsAfter(table, last && keyOf(table, last), rowsAtOnce);
    before += rows.length;
    for (const { part, row } of rows.flatMap((one) => target.placesOf(table, one))) {
      const one = expected.get(part)!;
      one.rows += 1;
      one.sum += digestOf(textOf(row));
    }
  } while (rows.length > 0);
  for (const [part, { rows, sum }] of expected) {
    refuseUnlessAsMany(table, rows, await part.count(table));
    if (isDeep) refuseUnlessSame(table, sum, (await part.sum(table)).sum);
  }
  return before;
}

function refuseUnlessAsMany({ name }: MovedTable, before: number, counted: number): void {
  if (counted === before) return;
  throw new MoveRefused(`${name} has ${counted} rows instead of ${before}. ${howToGoOn}`);
}

function refuseUnlessSame({ name }: MovedTable, before: bigint, sum: bigint): void {
  if (sum !== before) throw new MoveRefused(`Rows of ${name} differ in the two stores. ${howToGoOn}`);
}

const rowsAtOnce = 1_000;
const howToGoOn =
  'The move was not finished. Give it up with signet move --abandon, and begin again with an empty database.';
