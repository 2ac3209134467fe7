import { workIn } from '../parts.ts';
import { noteChange } from './changes.ts';
import { keepClaims } from './claims.ts';
import {
  digestOf,
  type End,
  type Ends,
  type Key,
  keyOf,
  type MovedTable,
  makeMoveTable,
  type OnMoveProgress,
  type Placed,
  type Row,
  type Target,
  textOf,
} from './ends.ts';
import { MoveRefused } from './refused.ts';

/** Texts of a slice, in UTF-16 units, as far as rows before say. */
const sliceLength = 2_000_000;
const mostRows = 4_000;
const firstRows = 200;

/** As many rows as fit a slice, if the next ones are like these; rows that are much longer meet a slice that has grown little. */
function nextRows(rows: readonly Row[]): number {
  const lengthOf = (row: Row) =>
    row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
  const length = rows.reduce((sum, row) => sum + lengthOf(row), 1);
  return Math.max(1, Math.min(Math.floor((rows.length * sliceLength) / length), rows.length * 4, mostRows));
}

/** `after`: how far the source was read, as the first part knows. `rows` and `sum`: of what was copied to this part. */
type Place = { after: Key | undefined; rows: number; sum: bigint; isDone: boolean };

const start: Place = { after: undefined, rows: 0, sum: 0n, isDone: false };

async function findPlace(part: End, { name }: MovedTable): Promise<Place | undefined> {
  const [found] = await part.run('select * from store_move_places where table_name = $1', name);
  if (!found) return undefined;
  const after = found.after_key === null ? undefined : (JSON.parse(String(found.after_key)) as Key);
  return { after, rows: Number(found.row_count), sum: BigInt(String(found.row_sum)), isDone: found.is_done === 1 };
}

const keepPlace = (part: End, { name }: MovedTable, { after, rows, sum, isDone }: Place) =>
  part.run(
    `insert into store_move_places (table_name, after_key, row_count, row_sum, is_done) values ($1, $2, $3, $4, $5)
     on conflict (table_name) do update set after_key = excluded.after_key, row_count = excluded.row_count,
       row_sum = excluded.row_sum, is_done = excluded.is_done`,
    ...[name, after === undefined ? null : JSON.stringify(after), rows, `${sum}`, isDone ? 1 : 0],
  );

/**
 * Copies every row, in slices, while the source is used. A slice and how far it reaches are one transaction of the target, so
 * an interrupted pass goes on where it stopped. The source has noted changes since before the pass began: what changes behind
 * the place that the pass has come to is copied again.
 *
 * Of a target in several parts the first one has how far a slice reaches, and its transaction is the last: a slice may be copied a second
 * time. Rows that a part has already are refused there, so they are counted once, and copied again with the changes.
 */
export async function copyAll(ends: Ends, tables: readonly MovedTable[], onProgress: OnMoveProgress): Promise<void> {
  const { parts } = ends.target;
  for (const part of parts) await makeMoveTable(part, 'store_move_places');
  const [begun] = await parts[0].run('select table_name from store_move_places limit 1');
  for (const part of begun ? [] : parts) await dropIndexes(part);
  for (const table of tables) await copyTable(ends, table, onProgress);
  for (const part of parts) await makeIndexes(part, onProgress);
}

/** Made of a full table, an index is sorted once; kept up row by row, each of a million rows writes another page of it. */
async function dropIndexes(part: End): Promise<void> {
  await makeMoveTable(part, 'store_move_indexes');
  await part.transaction(async () => {
    for (const { name, sql } of await part.indexes()) {
      await part.run('insert into store_move_indexes (name, sql) values ($1, $2)', name, sql);
      await part.run(`drop index ${name}`);
    }
  });
}

async function makeIndexes(part: End, onProgress: OnMoveProgress): Promise<void> {
  const left = await part.run('select name, sql from store_move_indexes order by name');
  for (const [done, { name, sql }] of left.entries()) {
    onProgress({ doing: 'making the index', table: String(name), done, of: left.length });
    await part.transaction(async () => {
      await part.run(String(sql));
      await part.run('delete from store_move_indexes where name = $1', name!);
    });
  }
}

async function copyTable(ends: Ends, table: MovedTable, onProgress: OnMoveProgress): Promise<void> {
  const { source, target } = ends;
  const [first] = target.parts;
  const place = (await findPlace(first, table)) ?? (await begin(target, table));
  if (place.isDone) return;
  const of = await source.count(table);
  const read = (after: Key | undefined, rows: number) => {
    const reading = source.rowsAfter(table, after, rows);
    reading.catch(() => undefined); // it is awaited after the slice before is written
    return reading;
  };
  let done = await sumOf(target, table);
  let reading = read(place.after, firstRows);
  for (;;) {
    const rows = await reading;
    if (rows.length === 0) break;
    const after = keyOf(table, rows.at(-1)!);
    reading = read(after, nextRows(rows));
    await writeSlice(ends, table, rows, after);
    done += rows.length;
    onProgress({ doing: 'copying', table: table.name, done, of: Math.max(of, done) });
  }
  await keepPlace(first, table, { ...((await findPlace(first, table)) ?? start), isDone: true });
}

/** How many rows of a table are copied. */
async function sumOf(target: Target, table: MovedTable): Promise<number> {
  const places = await workIn(target.partsOf(table), (part) => findPlace(part, table));
  return places.reduce((sum, place) => sum + (place?.rows ?? 0), 0);
}

/** Some migrations make rows, of which the source has its own. */
async function begin(target: Target, table: MovedTable): Promise<Place> {
  for (const part of target.partsOf(table).toReversed()) {
    await part.transaction(async () => {
      await part.run(`delete from ${table.name}`);
      await keepPlace(part, table, start);
    });
  }
  return start;
}

async function writeSlice(ends: Ends, table: MovedTable, rows: readonly Row[], after: Key): Promise<void> {
  const { target } = ends;
  const placed = Map.groupBy(
    rows.flatMap((row) => target.placesOf(table, row)),
    ({ part }) => part,
  );
  const claims = target.claimsOf(table);
  if (claims) await keepClaims(rows.flatMap(claims));
  const [first, ...others] = target.partsOf(table);
  const some = others.filter((part) => placed.has(part));
  await workIn(some, (part) => writePart(ends, table, part, { placed: placed.get(part)! }));
  await writePart(ends, table, first, { placed: placed.get(first) ?? [], after });
}

function writePart(
  ends: Ends,
  table: MovedTable,
  part: End,
  { placed, after }: { placed: readonly Placed[]; after?: Key },
): Promise<void> {
  return part.transaction(async () => {
    const place = (await findPlace(part, table)) ?? start;
    const rows = placed.map(({ row }) => row);
    const isWhole = rows.length === 0 || (await part.attempt(() => part.insert(table, rows)));
    const written = isWhole ? rows : await writeSome(ends, table, part, rows);
    const sum = written.reduce((sum, row) => sum + digestOf(textOf(row)), place.sum);
    await keepPlace(part, table, { ...place, after, rows: place.rows + written.length, sum });
  });
}

/**
 * A row that is refused has met one that changed since it was copied: it refers to a newer row, or has a value that was another's; or
 * it is there already. It is copied with the changes.
 * @returns the others.
 */
async function writeSome({ source }: Ends, table: MovedTable, part: End, rows: readonly Row[]): Promise<Row[]> {
  const written: Row[] = [];
  for (const row of rows) {
    if (await part.attempt(() => part.insert(table, [row]))) written.push(row);
    else await noteChange(source, table, keyOf(table, row));
  }
  return written;
}

/** Reads the whole target. @throws {MoveRefused} unless it has what was copied, and no changes have been copied yet. */
export async function checkCopy({ target }: Ends, tables: readonly MovedTable[], onProgress: OnMoveProgress) {
  for (const [done, table] of tables.entries()) {
    onProgress({ doing: 'checking', table: table.name, done, of: tables.length });
    await workIn(target.partsOf(table), (part) => checkPart(part, table));
  }
}

async function checkPart(part: End, table: MovedTable): Promise<void> {
  const place = (await findPlace(part, table)) ?? start;
  const found = await part.sum(table);
  if (found.rows === place.rows && found.sum === place.sum) return;
  throw new MoveRefused(
    `The copy of ${table.name} is not what was copied (${found.rows} rows instead of ${place.rows}, or others). Something else has written to it. Give the move up with signet move --abandon, and begin again with an empty database. The store of now is as it was.`,
  );
}
