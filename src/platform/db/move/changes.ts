import { workIn } from '../parts.ts';
import { dropClaims, keepClaims } from './claims.ts';
import {
  type End,
  type Ends,
  type Key,
  keyOf,
  type MovedTable,
  type OnMoveProgress,
  type Placed,
  type Row,
  textOf,
} from './ends.ts';
import { MoveRefused } from './refused.ts';

/** Keys that are taken in one transaction, for which changes of others wait; and rows that are copied in one. */
const [takenAtOnce, keysAtOnce] = [5_000, 500];

export const noteChange = (source: End, { name }: MovedTable, key: Key) =>
  source.run(
    `insert into store_move_changes (is_taken, table_name, row_key) values (0, $1, $2) on conflict do nothing`,
    ...[name, JSON.stringify(key)],
  );

export async function countChanges(source: End): Promise<number> {
  const [found] = await source.run('select count(*) as rows from store_move_changes');
  return Number(found?.rows);
}

/**
 * Sets the notes aside that there are now. One that is made later, of a row that is copied at that moment, is another note, and
 * one that was taken and not copied, since the move was killed, is copied with these.
 */
async function takeNotes(source: End): Promise<void> {
  for (let isLast = false; !isLast; ) {
    isLast = await source.transaction(async () => {
      await source.holdChanges();
      const [end] = await source.run(
        `select table_name, row_key from store_move_changes where is_taken = 0
          order by table_name, row_key limit 1 offset ${takenAtOnce}`,
      );
      const upTo = end ? 'and (table_name, row_key) <= ($1, $2)' : '';
      const values = end ? [end.table_name!, end.row_key!] : [];
      await source.run(
        `insert into store_move_changes (is_taken, table_name, row_key)
         select 1, table_name, row_key from store_move_changes where is_taken = 0 ${upTo} on conflict do nothing`,
        ...values,
      );
      await source.run(`delete from store_move_changes where is_taken = 0 ${upTo}`, ...values);
      return end === undefined;
    });
  }
}

/** Keys of a table that were taken, a page at a time. */
async function* takenKeys(source: End, { name }: MovedTable): AsyncGenerator<Key[]> {
  for (let after = ''; ; ) {
    const found = await source.run(
      `select row_key from store_move_changes where is_taken = 1 and table_name = $1 and row_key > $2
        order by row_key limit ${keysAtOnce}`,
      ...[name, after],
    );
    if (found.length === 0) return;
    after = String(found.at(-1)?.row_key);
    const texts = new Set(found.map(({ row_key }) => JSON.stringify(JSON.parse(String(row_key)))));
    yield [...texts].map((text) => JSON.parse(text) as Key);
  }
}

/**
 * Copies the rows that have changed: first those are removed that the source has no more, from the last table to the first, so that
 * no cascade reaches a row that stays; then the others are written. Killed at any point, it is repeated as a whole.
 * @param isClosed then each row has to be taken; else one that is refused is noted again, for the next time.
 * @returns how many it were.
 */
export async function copyChanges(
  ends: Ends,
  tables: readonly MovedTable[],
  isClosed: boolean,
  onProgress: OnMoveProgress,
): Promise<number> {
  const { source } = ends;
  await takeNotes(source);
  let done = 0;
  const of = await countChanges(source);
  const step = (table: MovedTable, rows: number) => {
    done += rows;
    onProgress({ doing: 'copying changes', table: table.name, done: Math.min(done, of), of });
  };
  for (const table of tables.toReversed()) {
    for await (const keys of takenKeys(source, table)) await removeMissing(ends, table, keys);
  }
  for (const table of tables) {
    let refusedBefore = Number.POSITIVE_INFINITY;
    for (let mayPark = false; ; ) {
      let refused = 0;
      for await (const keys of takenKeys(source, table)) {
        refused += await writeRows(ends, table, keys, isClosed, mayPark);
        if (refusedBefore === Number.POSITIVE_INFINITY) step(table, keys.length);
      }
      if (refused === 0 || !isClosed) break;
      if (mayPark && refused >= refusedBefore) throw refusedRows(table, refused);
      mayPark = refused >= refusedBefore;
      refusedBefore = refused;
    }
  }
  await dropTaken(source);
  return done;
}

const refusedRows = ({ name }: MovedTable, rows: number) =>
  new MoveRefused(
    `${rows} rows of ${name} do not fit what was copied before. Give the move up with signet move --abandon, and begin again with an empty database.`,
  );

async function removeMissing({ source, target }: Ends, table: MovedTable, keys: readonly Key[]): Promise<void> {
  const found = new Set((await source.rowsOf(table, keys)).map((row) => textOf(keyOf(table, row))));
  const missing = keys.filter((key) => !found.has(textOf(key)));
  if (missing.length === 0) return;
  await dropClaims(target, table, missing);
  await workIn(target.partsOf(table), (part) => part.transaction(() => part.remove(table, missing)));
}

/** @returns how many were refused. */
async function writeRows(
  { source, target }: Ends,
  table: MovedTable,
  keys: readonly Key[],
  isClosed: boolean,
  mayPark: boolean,
): Promise<number> {
  const rows = await source.rowsOf(table, keys);
  if (rows.length === 0) return 0;
  const claims = target.claimsOf(table);
  if (claims) {
    await dropClaims(target, table, keys);
    await keepClaims(rows.flatMap(claims));
  }
  const byPart = Map.groupBy(
    rows.flatMap((row) => target.placesOf(table, row)),
    ({ part }) => part,
  );
  const refused = await workIn(target.partsOf(table), (part) =>
    writePart(part, table, { keys, placed: byPart.get(part) ?? [], mayPark }),
  );
  const left = new Map(refused.flat().map((key) => [textOf(key), key]));
  if (!isClosed) for (const key of left.values()) await noteChange(source, table, key);
  return left.size;
}

/**
 * A row may have been in another part: the thing that its key names is another user's now.
 * @param given.keys of all rows, of which some are in other parts.
 * @returns the keys of those that were refused.
 */
async function writePart(
  part: End,
  table: MovedTable,
  { keys, placed, mayPark }: { keys: readonly Key[]; placed: readonly Placed[]; mayPark: boolean },
): Promise<Key[]> {
  const rows = placed.map(({ row }) => row);
  const own = new Set(rows.map((row) => textOf(keyOf(table, row))));
  const elsewhere = keys.filter((key) => !own.has(textOf(key)));
  const refused = new Set<Row>();
  await part.transaction(async () => {
    if (elsewhere.length > 0) await part.remove(table, elsewhere);
    if (rows.length === 0 || (await part.attempt(() => part.upsert(table, rows)))) return;
    for (const row of rows) {
      if (mayPark) await part.park(table, keyOf(table, row));
      if (!(await part.attempt(() => part.upsert(table, [row])))) refused.add(row);
    }
  });
  const written = rows.filter((row) => !refused.has(row));
  if (written.length > 0) await compareWritten(part, table, written);
  return [...refused].map((row) => keyOf(table, row));
}

/** Reads what was written. @throws {MoveRefused} */
async function compareWritten(part: End, table: MovedTable, written: readonly Row[]): Promise<void> {
  const keys = written.map((row) => keyOf(table, row));
  const found = new Set((await part.rowsOf(table, keys)).map(textOf));
  if (written.some((row) => !found.has(textOf(row)))) throw refusedRows(table, written.length);
}

async function dropTaken(source: End): Promise<void> {
  for (;;) {
    const [end] = await source.run(
      `select table_name, row_key from store_move_changes where is_taken = 1
        order by table_name, row_key limit 1 offset ${takenAtOnce}`,
    );
    const upTo = end ? 'and (table_name, row_key) <= ($1, $2)' : '';
    const values = end ? [end.table_name!, end.row_key!] : [];
    await source.run(`delete from store_move_changes where is_taken = 1 ${upTo}`, ...values);
    if (!end) return;
  }
}
