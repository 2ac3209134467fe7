import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createDb } from './db.ts';
import { type BatchResult, StoreUnavailable, storable } from './engine.ts';
import type { MigratableDb, MigratableEngine, MigrationSession } from './migrate.ts';
import type { Param, Statement } from './sql.ts';
import {
  busyTimeoutMs,
  createGroupCommit,
  isBusy,
  storeError,
  transactionControl,
  type WriteSession,
} from './sqlite-group-commit.ts';

/** Texts are written by us and few; the bound only keeps one that is built per call from growing without end. */
const cachedStatements = 1_000;

type Flush = Parameters<typeof transactionControl>[1];

/** Every statement runs through this: prepared once, bound by name, rows or a count whichever the text gives. */
type Execute = (statement: Statement) => BatchResult;

/**
 * The embedded store: one file that several processes may share.
 * Reads run at once, on the state of the last commit when the first read of their event-loop turn began, or the first
 * request of that turn arrived; writes go through the group commit.
 * @param path a file, made when missing; or a `file:` URI.
 * @param flush see {@link transactionControl}.
 * @throws {StoreUnavailable} when the file cannot be opened.
 */
export function openSqlite(path: string, flush: Flush = (commit) => commit()): MigratableDb {
  let opened: WriteSession | undefined = open(path, flush);
  const session = () => {
    if (!opened) throw new StoreUnavailable('The database file cannot be opened again.');
    return opened;
  };
  const writes = createGroupCommit(session, checkAnew);
  const run_id = `${process.pid}-${startOf(process.pid)}-${randomUUID().slice(-12)}`;
  let closing: Promise<void> | undefined;

  /**
   * Opening the file anew lets SQLite decide from its log what was kept. Then the whole file is read, by another thread,
   * and the next commit goes over what the failed one may have left behind. Reads go on all the while.
   */
  async function checkAnew(): Promise<void> {
    for (;;) {
      if (closing) throw closed();
      try {
        opened?.connection.close();
        opened = undefined;
        opened = open(path, flush);
        await quickCheck(path);
        if (closing) throw closed();
        writeSomething(opened);
        return;
      } catch {
        await sleep(recheckMs, undefined, { ref: false });
      }
    }
  }

  return createDb<MigratableEngine>({
    engine: 'sqlite',
    run_id,
    isRunning: async (other) => isRunning(run_id, other),
    query: async (statement) => {
      if (closing) throw closed();
      try {
        const { execute, transaction } = session();
        transaction.beginReading();
        return execute(statement).rows;
      } catch (error) {
        throw storeError(error);
      }
    },
    requestArrived: () => opened?.transaction.requestArrived(),
    commit: async (steps) => {
      if (closing) throw closed();
      return writes.enqueue(steps);
    },
    close: () => {
      closing ??= writes.drained().then(() => opened?.connection.close());
      return closing;
    },
    exclusively: (work) => exclusively(path, work),
  });
}

function open(path: string, flush: Flush): WriteSession {
  const connection = connect(path);
  return { connection, execute: executor(connection), transaction: transactionControl(connection, flush) };
}

/** Between two checks of a file whose flush failed. */
const recheckMs = 1_000;

/** @throws when a page is damaged, or cannot be read. */
async function quickCheck(path: string): Promise<void> {
  const worker = new Worker(checkingScript, { eval: true, workerData: path });
  const [verdict] = await once(worker, 'message');
  if (verdict !== 'ok') throw new StoreUnavailable(`The database file is damaged: ${verdict}`);
}
const checkingScript = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const connection = new DatabaseSync(workerData);
const [row] = connection.prepare('pragma quick_check(1)').all();
connection.close();
parentPort.postMessage(row.quick_check);`;

/** A commit with all that belongs to it: the number is its own, and its page is written and flushed all the same. */
function writeSomething({ connection, transaction }: WriteSession): void {
  transaction.begin();
  try {
    const { user_version } = connection.prepare('pragma user_version').get() as { user_version: number };
    connection.exec(`pragma user_version = ${user_version}`);
    transaction.commit();
  } catch (error) {
    if (connection.isTransaction) transaction.rollback();
    throw error;
  }
}

/**
 * All processes of a file are on one machine. A number is given again, after a restart of a container or the machine most
 * of all: one that bears our number and not our name is from before us, and so is one whose process began at another time.
 */
function isRunning(own: string, other: string): boolean {
  const [number, start] = other.split('-');
  const pid = Number(number);
  if (pid === process.pid) return own === other;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return ['', start].includes(startOf(pid));
}

/** When a process began, in ticks of the machine; empty where the system does not say. */
function startOf(pid: number): string {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.slice(status.lastIndexOf(')')).split(' ')[20] ?? ''; // field 22 of proc(5); names may hold spaces
  } catch {
    return '';
  }
}

const closed = () => new StoreUnavailable('The store is closed.');

/**
 * WAL lets readers and one writer work at once; `synchronous = full` is what makes a commit mean "on disk" under WAL
 * (`normal` may lose the last commits when the power goes).
 */
function connect(path: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    let connection: DatabaseSync | undefined;
    try {
      connection = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
      connection.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
      return connection;
    } catch (error) {
      connection?.close();
      // Turning a new file to WAL needs it alone, and SQLite does not call its busy handler for that step.
      if (!isBusy(error) || attempt === 200) throw storeError(error);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

type Prepared = { statement: StatementSync; columns: readonly string[] };
const columnsOf = (statement: StatementSync) => statement.columns().map(({ name }) => name);

function executor(connection: DatabaseSync): Execute {
  const cache = new Map<string, Prepared>();

  const prepare = (sql: string): Prepared => {
    const known = cache.get(sql);
    if (known) return known;
    const statement = connection.prepare(positional(sql));
    statement.setReturnArrays(true);
    const prepared = { statement, columns: columnsOf(statement) };
    const oldest = cache.size >= cachedStatements ? cache.keys().next().value : undefined;
    if (oldest !== undefined) cache.delete(oldest);
    cache.set(sql, prepared);
    return prepared;
  };

  return ({ sql, params = [] }) => {
    const prepared = prepare(sql);
    const { statement } = prepared;
    const values = params.map(storable);
    if (prepared.columns.length === 0) return { changes: Number(statement.run(...values).changes), rows: [] };
    const rows = statement.all(...values) as unknown as unknown[][];
    // Of a `*` there are more once another node has migrated.
    if (rows[0] && rows[0].length !== prepared.columns.length) prepared.columns = columnsOf(statement);
    return { changes: rows.length, rows: rows.map((row) => rowOf(prepared.columns, row)) };
  };
}

/** As `pg` makes it. The objects of `node:sqlite` are slower to make, and to read. */
function rowOf(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index += 1) row[columns[index]!] = values[index];
  return row;
}

/** `$1` is to SQLite not a position but a parameter whose name is 1, and names cost an object at every call. */
const positional = (sql: string): string => sql.replace(/\$(\d+)/g, '?$1');

/** As long as a migration of another node may take: 3 000 polls of 10 ms. */
const migrationLockPolls = 3_000;

/**
 * One transaction on a connection of its own, so that no other write of this process can slip into it while `work`
 * awaits. The lock is polled: waiting inside SQLite would stop the event loop, and with it a holder in this process.
 */
async function exclusively<T>(path: string, work: (session: MigrationSession) => Promise<T>): Promise<T> {
  const connection = connect(path);
  try {
    connection.exec('pragma busy_timeout = 0');
    await beginWhenFree(connection);
    const execute = executor(connection);
    const kept = await work({
      all: async <Row>(sql: string, params?: readonly Param[]) => execute({ sql, params }).rows as Row[],
      exec: async (script) => connection.exec(script),
    });
    connection.exec('commit');
    return kept;
  } catch (error) {
    if (connection.isTransaction) connection.exec('rollback');
    throw storeError(error);
  } finally {
    connection.close();
  }
}

async function beginWhenFree(connection: DatabaseSync): Promise<void> {
  for (let poll = 1; ; poll += 1) {
    try {
      connection.exec('begin immediate');
      return;
    } catch (error) {
      if (!isBusy(error) || poll === migrationLockPolls) throw error;
      await sleep(10);
    }
  }
}
