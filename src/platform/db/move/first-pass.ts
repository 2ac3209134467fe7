import { noteChange } from './changes.ts';
import {
  type End,
  type Ends,
  type Key,
  keyOf,
  type MovedTable,
  makeMoveTable,
  type OnMoveProgress,
  type Row,
  sumOf,
  textOf,
} from './ends.ts';
import { MoveRefused } from './refused.ts';

/** Texts of a slice, in UTF-16 units, as far as rows before say. */
const sliceLength = 2_000_000;
const mostRows = 4_000;
const firstRows = 50;

/** As many rows as fit a slice, if the next ones are like these; rows that are much longer meet a slice that has grown little. */
function nextRows(rows: readonly Row[]): number {
  let length = 1;
  for (const row of rows) length += textOf(row).length;
  const fitting = Math.floor((rows.length * sliceLength) / length);
  return Math.max(1, Math.min(fitting, rows.length * 4, mostRows));
}

type Place = { after: Key | undefined; rows: number; sum: bigint; isDone: boolean };

const start: Place = { after: undefined, rows: 0, sum: 0n, isDone: false };

async function findPlace(target: End, { name }: MovedTable): Promise<Place | undefined> {
  const [found] = await target.run('select * from store_move_places where table_name = $1', name);
  if (!found) return undefined;
  const after = found.after_key === null ? undefined : (JSON.parse(String(found.after_key)) as Key);
  return { after, rows: Number(found.row_count), sum: BigInt(String(found.row_sum)), isDone: found.is_done === 1 };
}

const keepPlace = (target: End, { name }: MovedTable, { after, rows, sum, isDone }: Place) =>
  target.run(
    `insert into store_move_places (table_name, after_key, row_count, row_sum, is_done) values ($1, $2, $3, $4, $5)
     on conflict (table_name) do update set after_key = excluded.after_key, row_count = excluded.row_count,
       row_sum = excluded.row_sum, is_done = excluded.is_done`,
    ...[name, after === undefined ? null : JSON.stringify(after), rows, `${sum}`, isDone ? 1 : 0],
  );

/**
 * Copies every row, in slices, while the source is used. A slice and how far it reaches are one transaction of the target, so
 * an interrupted pass goes on where it stopped. The source has noted changes since before the pass began: what changes behind
 * the place that the pass has come to is copied again.
 */
export async function copyAll(ends: Ends, tables: readonly MovedTable[], onProgress: OnMoveProgress): Promise<void> {
  await makeMoveTable(ends.target, 'store_move_places');
  for (const table of tables) await copyTable(ends, table, onProgress);
}

async function copyTable({ source, target }: Ends, table: MovedTable, onProgress: OnMoveProgress): Promise<void> {
  let place = (await findPlace(target, table)) ?? (await begin(target, table));
  if (place.isDone) return;
  const of = await source.count(table);
  const read = (after: Key | undefined, rows: number) => {
    const reading = source.rowsAfter(table, after, rows);
    reading.catch(() => undefined); // it is awaited after the slice before is written
    return reading;
  };
  let reading = read(place.after, firstRows);
  for (;;) {
    const rows = await reading;
    if (rows.length === 0) break;
    const after = keyOf(table, rows.at(-1)!);
    reading = read(after, nextRows(rows));
    place = await target.transaction(() => writeSlice({ source, target }, table, rows, { ...place, after }));
    onProgress({ doing: 'copying', table: table.name, done: place.rows, of: Math.max(of, place.rows) });
  }
  await keepPlace(target, table, { ...place, isDone: true });
}

/** Some migrations make rows, of which the source has its own. */
const begin = (target: End, table: MovedTable): Promise<Place> =>
  target.transaction(async () => {
    await target.run(`delete from ${table.name}`);
    await keepPlace(target, table, start);
    return start;
  });

async function writeSlice({ source, target }: Ends, table: MovedTable, rows: readonly Row[], place: Place) {
  const isWhole = await target.attempt(() => target.insert(table, rows));
  const written = isWhole ? rows : await writeSome({ source, target }, table, rows);
  const next = { ...place, rows: place.rows + written.length, sum: place.sum + sumOf(written) };
  await keepPlace(target, table, next);
  return next;
}

/**
 * A row that is refused has met one that changed since it was copied: it refers to a newer row, or has a value that was another's.
 * It is copied with the changes.
 */
async function writeSome({ source, target }: Ends, table: MovedTable, rows: readonly Row[]): Promise<Row[]> {
  const written: Row[] = [];
  for (const row of rows) {
    if (await target.attempt(() => target.insert(table, [row]))) written.push(row);
    else await noteChange(source, table, keyOf(table, row));
  }
  return written;
}

/** Reads the whole target. @throws {MoveRefused} unless it has what was copied, and no changes have been copied yet. */
export async function checkCopy({ target }: Ends, tables: readonly MovedTable[], onProgress: OnMoveProgress) {
  for (const [done, table] of tables.entries()) {
    onProgress({ doing: 'checking', table: table.name, done, of: tables.length });
    const place = (await findPlace(target, table)) ?? start;
    const found = await target.sum(table);
    if (found.rows !== place.rows || found.sum !== place.sum) {
      throw new MoveRefused(
        `The copy of ${table.name} is not what was copied (${found.rows} rows instead of ${place.rows}, or others). Something else has written to it. Give the move up with signet move --abandon, and begin again with an empty database. The store of now is as it was.`,
      );
    }
  }
}
