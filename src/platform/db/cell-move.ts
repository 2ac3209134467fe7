import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { CellsRefused } from './cell-refused.ts';
import { onServer, publish, rowsOf, subscribe, tablesToCopy } from './cell-servers.ts';

/** What a cell is called on the server that it has left, until the operator drops it. */
export const leftSchema = (cell: string): string => `${cell}_moved`;

/** Names of the publication on the server that it leaves, and of the subscription on the other. */
const nameOf = (cell: string): string => `signet_cell_${cell}`;

export type CellMoveProgress = (progress: { tables: number; left: number }) => void;

/** Between two looks at how far the copy is. */
const pollMs = 100;
/** So long a change of the cell waits at most for those before it. Then the closing is tried again. */
const lockMs = 1_000;
const closings = 20;

type Outside = {
  /** Has the store know where the cell is now. */
  switchOver: () => Promise<void>;
  onProgress: CellMoveProgress;
  /** Milliseconds. */
  monotonic: () => number;
};

type Count = { name: string; rows: number };

/**
 * Copies a cell to another server while it is in use, closes it, and compares both. What was copied stays after an error or a kill,
 * and the next call goes on.
 * @param from and `to`: URLs, as the servers themselves reach each other. The other one has the tables of the cell.
 * @returns for how many milliseconds the cell was closed, and how many rows it has.
 * @throws {CellsRefused} if the copy is not the same; then the cell is where it was, and open.
 */
export async function moveCell(
  cell: string,
  { from, to }: { from: string; to: string },
  { switchOver, onProgress, monotonic }: Outside,
): Promise<{ closedMs: number; rows: number }> {
  return onServer(from, (source) =>
    onServer(to, async (target) => {
      const isClosed = await hasSchema(source, leftSchema(cell));
      if (!isClosed) await follow(cell, { source, target, from }, onProgress);
      const closedAt = monotonic();
      if (!isClosed) await closeCell(cell, source);
      try {
        await waitForRest(cell, source);
        const rows = await compare(cell, source, target);
        await switchOver();
        await target.query(`drop subscription if exists ${nameOf(cell)}`);
        await source.query(`drop publication if exists ${nameOf(cell)}`);
        return { closedMs: monotonic() - closedAt, rows };
      } catch (error) {
        if (error instanceof CellsRefused) await source.query(`alter schema ${leftSchema(cell)} rename to ${cell}`);
        throw error;
      }
    }),
  );
}

const hasSchema = async (client: pg.Client, schema: string): Promise<boolean> =>
  (await rowsOf(client, 'select 1 from pg_namespace where nspname = $1', [schema])).length > 0;

const tablesOf = async (client: pg.Client, schema: string): Promise<string[]> =>
  (
    await rowsOf<{ name: string }>(
      client,
      `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r' order by relname`,
      [schema],
    )
  ).map(({ name }) => name);

async function follow(
  cell: string,
  { source, target, from }: { source: pg.Client; target: pg.Client; from: string },
  onProgress: CellMoveProgress,
): Promise<void> {
  const tables = await tablesOf(source, cell);
  const subscribed = await rowsOf(target, 'select 1 from pg_subscription where subname = $1', [nameOf(cell)]);
  if (subscribed.length === 0) {
    const all = tables.map((name) => `${cell}.${name}`).join(', ');
    await target.query(`truncate ${all}`); // of an attempt before it, and what the migrations have left there
    await publish(source, nameOf(cell), `tables in schema ${cell}`);
    await subscribe(target, nameOf(cell), from, nameOf(cell));
  }
  for (;;) {
    const left = (await tablesToCopy(target, nameOf(cell))).length;
    onProgress({ tables: tables.length, left });
    if (left === 0) return;
    await sleep(pollMs);
  }
}

/**
 * Takes its schema another name, in a transaction that no change of the cell overlaps: a later statement finds no tables, has changed
 * nothing, and is asked again where the cell is then.
 */
async function closeCell(cell: string, source: pg.Client): Promise<void> {
  const tables = (await tablesOf(source, cell)).map((name) => `${cell}.${name}`).join(', ');
  for (let attempt = 1; ; attempt += 1) {
    try {
      await source.query('begin');
      await source.query(`set local lock_timeout = ${lockMs}`);
      await source.query(`lock table ${tables} in exclusive mode`);
      await source.query(`alter schema ${cell} rename to ${leftSchema(cell)}`);
      await source.query('commit');
      return;
    } catch (error) {
      await source.query('rollback');
      if ((error as pg.DatabaseError).code !== '55P03' || attempt === closings) throw error;
      await sleep(lockMs);
    }
  }
}

/** Until the other server has what was committed before the cell was closed. */
async function waitForRest(cell: string, source: pg.Client): Promise<void> {
  const [end] = await rowsOf<{ place: string }>(source, 'select pg_current_wal_lsn()::text as place');
  for (;;) {
    const behind = await rowsOf(
      source,
      'select 1 from pg_replication_slots where slot_name = $1 and confirmed_flush_lsn < $2::pg_lsn',
      [nameOf(cell), end!.place],
    );
    if (behind.length === 0) return;
    await sleep(5);
  }
}

async function compare(cell: string, source: pg.Client, target: pg.Client): Promise<number> {
  const tables = await tablesOf(target, cell);
  const countsIn = (client: pg.Client, schema: string) =>
    rowsOf<Count>(
      client,
      tables
        .map((name) => `select '${name}' as name, count(*)::int as rows from ${schema}.${name}`)
        .join(' union all '),
    );
  const [left, right] = await Promise.all([countsIn(source, leftSchema(cell)), countsIn(target, cell)]);
  const other = new Map(right.map(({ name, rows }) => [name, rows]));
  const different = left.find(({ name, rows }) => other.get(name) !== rows);
  if (different !== undefined) {
    throw new CellsRefused(
      `The copy of ${different.name} has ${other.get(different.name)} rows instead of ${different.rows}. The cell ${cell} is where it was, and open; nothing was lost. Drop its copy, and move it again.`,
    );
  }
  return left.reduce((sum, { rows }) => sum + rows, 0);
}
