import { hash } from 'node:crypto';
import { ConfigError } from '../../errors.ts';
import type { Db } from '../db.ts';
import { choice, integer, nullable, type RowOf, row, text } from '../rows.ts';
import { raw, type Sql, sql } from '../sql.ts';
import { allTables } from '../tables.ts';
import { type End, makeMoveTable } from './ends.ts';
import { withoutPostgresTriggers, withoutSqliteTriggers } from './tracking.ts';

const Mark = row('store_moves', {
  side: choice('source', 'target'),
  move_id: text,
  /** The other store: a URL without its password, or a folder. */
  other: text,
  /** A digest of the migrations that both had when the copying began. */
  migrations: text,
  began_at: integer,
  /** When the first pass was complete. */
  copied_at: nullable(integer),
  closed_at: nullable(integer),
  finished_at: nullable(integer),
});
/** What a store knows of a move from it or to it. Times are Unix seconds. */
export type Mark = RowOf<typeof Mark>;
export type Marks = { source?: Mark; target?: Mark };

/** Most stores have no such table: a move makes it. */
export async function findMarks(db: Db): Promise<Marks> {
  const [table] = await db.shared.query({
    sql:
      db.engine === 'sqlite'
        ? `select 1 as one from sqlite_master where type = 'table' and name = 'store_moves'`
        : `select 1 as one where to_regclass('store_moves') is not null`,
  });
  const marks = table ? await db.shared.all(Mark, sql`select ${Mark.columns} from store_moves`) : [];
  return Object.fromEntries(marks.map((mark) => [mark.side, mark]));
}

/** @throws {ConfigError} for a store that was moved elsewhere, or is not complete yet: nothing may be written to it. */
export async function refuseMoved(db: Db): Promise<void> {
  const sentence = whyClosed(await findMarks(db));
  if (sentence) throw new ConfigError(sentence);
}

export function whyClosed({ source, target }: Marks): string | undefined {
  if (target && target.finished_at === null) {
    return `This store is the incomplete copy of ${target.other}. Finish the move with the settings of that store: signet move --finish`;
  }
  if (!source || source.closed_at === null) return undefined;
  return source.finished_at === null
    ? `This store is closed while it is moved to ${source.other}. Go on with: signet move --finish. To use this store again instead: signet move --abandon`
    : `This store was moved to ${source.other} and is closed: what is written now is there, and not here. Set SIGNET_DATABASE_URL or SIGNET_DATA_DIR to it. If nothing was written there yet, this store is used again after: signet move --abandon`;
}

export async function writeMark(end: End, mark: Pick<Mark, 'side' | 'move_id' | 'other' | 'migrations' | 'began_at'>) {
  await makeMoveTable(end, 'store_moves');
  const { side, move_id, other, migrations, began_at } = mark;
  await end.run(
    `insert into store_moves (side, move_id, other, migrations, began_at) values ($1, $2, $3, $4, $5)
     on conflict (side) do update set move_id = excluded.move_id, other = excluded.other, migrations = excluded.migrations,
       began_at = excluded.began_at, copied_at = null, closed_at = null, finished_at = null`,
    ...[side, move_id, other, migrations, began_at],
  );
}

export const noteTime = (
  end: End,
  side: Mark['side'],
  column: 'copied_at' | 'closed_at' | 'finished_at',
  at: number | null,
) => end.run(`update store_moves set ${column} = $1 where side = $2`, at, side);

/**
 * The store is used as if no move from it had begun. The mark goes last: until then it is closed, if it was.
 * Also for a copy, whose notes lack what changed after it was made.
 */
export async function forgetMove(db: Db): Promise<void> {
  const { source } = await findMarks(db);
  if (!source) return;
  const drop = db.engine === 'sqlite' ? withoutSqliteTriggers : withoutPostgresTriggers;
  for (const statement of allTables.flatMap(([name]) => drop(name))) await db.shared.run(raw(statement));
  await db.shared.run(sql`drop table if exists store_move_changes`);
  await db.shared.run(sql`delete from store_moves where side = 'source'`);
}

/** For the change that makes the target a store of its own. */
export const finishTarget = (at: number): Sql =>
  sql`update store_moves set finished_at = ${at} where side = 'target' and finished_at is null`;

/** A digest of what has made the tables of a store. */
export async function findMigrations(db: Db): Promise<string> {
  const rows = await db.shared.all(Migration, sql`select ${Migration.columns} from schema_migrations`);
  const lines = rows.map(({ name, checksum }) => `${name} ${checksum}`).sort();
  return hash('sha256', lines.join('\n'));
}

const Migration = row('schema_migrations', { name: text, checksum: text });
