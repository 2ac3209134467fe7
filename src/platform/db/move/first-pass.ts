import { noteChange } from './changes.ts';
import {
  digestOf,
  type End,
  type Ends,
  type Key,
  keyOf,
  type MovedTable,
  makeMoveTable,
  type OnMoveProgress,
  type Row,
  textOf,
} from './ends.ts';
import { MoveRefused } from './refused.ts';

/** Texts of a slice, in UTF-16 units, as far as rows before say. */
const sliceLength = 2_000_000;
const mostRows = 4_000;
const firstRows = 200;

/** As many rows as fit a slice, if the next ones are like these; rows that are much longer meet a slice that has grown little. */
function nextRows(texts: readonly string[]): number {
  const length = texts.reduce((sum, text) => sum + text.length, 1);
  return Math.max(1, Math.min(Math.floor((texts.length * sliceLength) / length), texts.length * 4, mostRows));
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
  const { target } = ends;
  await makeMoveTable(target, 'store_move_places');
  const [begun] = await target.run('select table_name from store_move_places limit 1');
  if (!begun) await dropIndexes(target);
  for (const table of tables) await copyTable(ends, table, onProgress);
  await makeIndexes(target, onProgress);
}

/** Made of a full table, an index is sorted once; kept up row by row, each of a million rows writes another page of it. */
async function dropIndexes(target: End): Promise<void> {
  await makeMoveTable(target, 'store_move_indexes');
  await target.transaction(async () => {
    for (const { name, sql } of await target.indexes()) {
      await target.run('insert into store_move_indexes (name, sql) values ($1, $2)', name, sql);
      await target.run(`drop index ${name}`);
    }
  });
}

async function makeIndexes(target: End, onProgress: OnMoveProgress): Promise<void> {
  const left = await target.run('select name, sql from store_move_indexes order by name');
  for (const [done, { name, sql }] of left.entries()) {
    onProgress({ doing: 'making the index', table: String(name), done, of: left.length });
    await target.transaction(async () => {
      await target.run(String(sql));
      await target.run('delete from store_move_indexes where name = $1', name!);
    });
  }
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
    const texts = rows.map(textOf);
    reading = read(after, nextRows(texts));
    const slice = { rows, texts, place: { ...place, after } };
    place = await target.transaction(() => writeSlice({ source, target }, table, slice));
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

/** Rows, what their digests are made of, and the place that is reached with them. */
type Slice = { rows: readonly Row[]; texts: readonly string[]; place: Place };

async function writeSlice(ends: Ends, table: MovedTable, slice: Slice): Promise<Place> {
  const { target } = ends;
  const isWhole = await target.attempt(() => target.insert(table, slice.rows));
  const written = isWhole ? slice.texts : await writeSome(ends, table, slice);
  const sum = written.reduce((sum, text) => sum + digestOf(text), slice.place.sum);
  const place = { ...slice.place, rows: slice.place.rows + written.length, sum };
  await keepPlace(target, table, place);
  return place;
}

/**
 * A row that is refused has met one that changed since it was copied: it refers to a newer row, or has a value that was another's.
 * It is copied with the changes.
 * @returns the texts of the others.
 */
async function writeSome({ source, target }: Ends, table: MovedTable, { rows, texts }: Slice): Promise<string[]> {
  const written: string[] = [];
  for (const [at, row] of rows.entries()) {
    if (await target.attempt(() => target.insert(table, [row]))) written.push(texts[at]!);
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
