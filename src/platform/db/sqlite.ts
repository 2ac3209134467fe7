import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createDb, type Db } from './db.ts';
import { type BatchResult, type Engine, StoreMoved, StoreUnavailable, storable } from './engine.ts';
import type { MigratableDb, MigratableEngine, MigrationSession } from './migrate.ts';
import type { Param, Statement } from './sql.ts';
import { isBusy, storeError } from './sqlite-errors.ts';
import type { Flush } from './sqlite-flushes.ts';
import { createGroupCommit, type Phases, type WriteSession } from './sqlite-group-commit.ts';
import { type LogOptions, openLog, writePage } from './sqlite-log.ts';
import { openPlace } from './sqlite-place.ts';
import { isRunning, startOf } from './sqlite-processes.ts';
import { checkFile } from './sqlite-thread.ts';
import { busyTimeoutMs, transactionControl } from './sqlite-transactions.ts';

/** Texts are written by us and few; the bound only keeps one that is built per call from growing without end. */
const cachedStatements = 1_000;

/** Every statement runs through this: prepared once, bound by name, rows or a count whichever the text gives. */
type Execute = (statement: Statement) => BatchResult;

/**
 * The embedded store: one file that several processes may share.
 * Reads run at once, on the state of the last commit when the first read of their event-loop turn began, or the first
 * request of that turn arrived; writes go through the group commit. Neither waits for the disk on the event loop, and
 * neither is answered before all that it depends on has been flushed.
 * @param path a file, made when missing; or a `file:` URI.
 * @throws {StoreUnavailable} when the file cannot be opened.
 */
export function openSqlite(path: string, given: LogOptions & { phases?: Phases } = {}): MigratableDb {
  const { flush = (sync) => sync(), monotonic = () => 0 } = given;
  // After the flush, so that what is confirmed is in the file that a later start opens.
  const flushInPlace: Flush = async (sync) => {
    await flush(sync);
    if (place.hasMoved()) refuseMoved();
  };
  const options = { ...given, flush: flushInPlace, hasMoved: () => place.hasMoved() };
  let opened: WriteSession | undefined = openOrOnlyRead(path, options);
  const place = openPlace(opened.connection.location() ?? path, monotonic);
  const session = () => {
    if (!opened) throw new StoreUnavailable('The database file cannot be opened again.');
    return opened;
  };
  const writes = createGroupCommit(session, checkAnew, options.phases);
  const run_id = `${process.pid}-${startOf(process.pid)}-${randomUUID().slice(-12)}`;
  let closing: Promise<void> | undefined;
  let checking: Promise<void> | undefined;

  function refuseMoved(): never {
    if (!writes.isFenced) options.log?.error({ path }, place.sentence);
    writes.fence(place.sentence, () =>
      options.log?.warn({ path }, 'the database file is back in its place, and was checked'),
    );
    throw new StoreMoved(place.sentence);
  }

  async function close(): Promise<void> {
    await writes.drained();
    await checking?.catch(() => undefined); // it has the file open, too
    await opened?.log.close();
    opened?.connection.close();
    place.end();
  }

  /**
   * The file is opened anew and read as a whole, by another thread. Then the log, of which a part may not be on disk, is
   * copied into the database and begun anew, and a commit has to succeed. Reads go on all the while.
   */
  async function checkAnew(): Promise<void> {
    for (;;) {
      if (closing) throw closed();
      try {
        if (place.hasMoved()) throw new StoreMoved(place.sentence);
        const failed = opened;
        opened = undefined;
        try {
          failed?.connection.close();
          place.closed();
          opened = openOrOnlyRead(path, options);
        } finally {
          await failed?.log.close();
        }
        if (opened.onlyReads) throw new StoreUnavailable(cannotWrite);
        if (closing) throw closed();
        checking = checkFile(path);
        await checking;
        if (closing) throw closed();
        opened.transaction.begin();
        opened.connection.exec(writePage);
        opened.transaction.commit();
        await opened.log.flushes.flush();
        return;
      } catch {
        await sleep(recheckMs, undefined, { ref: false });
      }
    }
  }

  function read(statement: Statement) {
    try {
      if (place.hasMovedLately()) refuseMoved();
      const { execute, transaction, log } = session();
      log.refuseWhileStalled();
      if (transaction.beginReading() && !writes.isFenced) void log.flushes.flush();
      const { rows } = execute(statement);
      return { rows, unflushed: writes.isFenced ? undefined : log.flushes.unflushed };
    } catch (error) {
      throw storeError(error);
    }
  }

  function distrust(cause: unknown): never {
    writes.fence();
    throw new StoreUnavailable('The disk could not confirm what was read.', { cause });
  }

  if (opened.onlyReads) {
    options.log?.error({ path }, `${cannotWrite} Until then only what changes nothing is answered.`);
    writes.fence(cannotWrite, () => options.log?.warn({ path }, 'the database can be written again'));
  }

  return createDb<MigratableEngine>({
    engine: 'sqlite',
    run_id,
    room: writes.room,
    isRunning: async (other) => isRunning(run_id, other),
    query: async (statement) => {
      if (closing) throw closed();
      const { rows, unflushed } = read(statement);
      if (unflushed) await unflushed.catch(distrust);
      return rows;
    },
    requestArrived: () => opened?.transaction.requestArrived(),
    commit: async (steps) => {
      if (closing) throw closed();
      if (place.hasMovedLately()) refuseMoved();
      return writes.enqueue(steps);
    },
    close: () => {
      closing ??= close();
      return closing;
    },
    exclusively: (work) => exclusively(path, work),
  });
}

/**
 * For a diagnosis, which leaves everything as it is: no file is made, no mode set, and no log copied into the database. Without a
 * log no process has the file open, and SQLite would make one, and leave it, unless the file is said to be immutable.
 * @throws {StoreUnavailable} when the file cannot be opened.
 */
export function openSqliteToRead(path: string): Db {
  try {
    const name = existsSync(`${path}-wal`) ? path : `${pathToFileURL(path)}?immutable=1`;
    const connection = new DatabaseSync(name, { readOnly: true, timeout: busyTimeoutMs });
    const execute = executor(connection);
    return createDb<Engine>({
      engine: 'sqlite',
      run_id: '',
      room: 1,
      isRunning: async () => true,
      requestArrived: () => undefined,
      query: async (statement) => {
        try {
          return execute(statement).rows;
        } catch (error) {
          throw storeError(error);
        }
      },
      commit: async () => {
        throw new StoreUnavailable('The database was opened for reading only.');
      },
      close: async () => connection.close(),
    });
  } catch (error) {
    throw storeError(error);
  }
}

const open = (path: string, options: LogOptions): WriteSession => sessionOf(connect(path), options);

function sessionOf(connection: DatabaseSync, options: LogOptions, onlyReads = false): WriteSession {
  const log = openLog(connection, options);
  return { connection, execute: executor(connection), transaction: transactionControl(connection), log, onlyReads };
}

const cannotWrite = 'The database cannot be written: its disk is full or read-only. It is tried again each second.';

/** @throws {StoreUnavailable} as it was when the file was to be opened for writing. */
function openOrOnlyRead(path: string, options: LogOptions): WriteSession {
  try {
    return open(path, options);
  } catch (error) {
    const connection = options.isDiskUnwritable?.() ? connectToRead(path) : undefined;
    if (!connection) throw error;
    return sessionOf(connection, options, true);
  }
}

/**
 * Where SQLite can make neither the log nor the index of it: by an index in memory, for which no other process may have the file
 * open; or, on a read-only disk, without a log, if there is none. Both see every commit.
 */
function connectToRead(path: string): DatabaseSync | undefined {
  const log = `${path}-wal`;
  const hasLog = existsSync(log) && statSync(log).size > 0;
  const ways = [{ name: path, before: 'pragma locking_mode = exclusive;' }];
  if (!hasLog) ways.push({ name: `${pathToFileURL(path)}?immutable=1`, before: '' });
  for (const { name, before } of ways) {
    let connection: DatabaseSync | undefined;
    try {
      if (!existsSync(path)) return undefined;
      connection = new DatabaseSync(name, { timeout: 0, enableForeignKeyConstraints: true });
      connection.exec(`${before} select 1 from schema_migrations limit 1;`);
      return connection;
    } catch {
      connection?.close();
    }
  }
  return undefined;
}

/** Between two checks of a file whose flush failed. */
const recheckMs = 1_000;

const closed = () => new StoreUnavailable('The store is closed.');

/** KiB. Holds the upper pages of the indexes of some million rows; with SQLite's own 2 MB each of them is read again and again. */
const pageCache = 16_000;

/** WAL lets readers and one writer work at once. Here a commit is flushed by SQLite, before others can see it. */
function connect(path: string): DatabaseSync {
  for (let attempt = 1; ; attempt += 1) {
    let connection: DatabaseSync | undefined;
    try {
      connection = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
      connection.exec(
        `pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -${pageCache};`,
      );
      return connection;
    } catch (error) {
      connection?.close();
      // Turning a new file to WAL needs it alone, and SQLite does not call its busy handler for that step.
      if (!isBusy(error) || attempt === 200) throw storeError(error);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

type Prepared = { statement: StatementSync; columns: readonly string[]; isCounted: boolean };
/** The statements whose rows SQLite counts. Any other may have changed something, as `create table` does. */
const counted = /^\s*(?:insert|update|delete|with)\b/i;
const columnsOf = (statement: StatementSync) => statement.columns().map(({ name }) => name);

export function executor(connection: DatabaseSync): Execute {
  const cache = new Map<string, Prepared>();

  const prepare = (sql: string): Prepared => {
    const known = cache.get(sql);
    if (known) return known;
    const statement = connection.prepare(positional(sql));
    statement.setReturnArrays(true);
    const prepared = { statement, columns: columnsOf(statement), isCounted: counted.test(sql) };
    const oldest = cache.size >= cachedStatements ? cache.keys().next().value : undefined;
    if (oldest !== undefined) cache.delete(oldest);
    cache.set(sql, prepared);
    return prepared;
  };

  return ({ sql, params = [] }) => {
    const prepared = prepare(sql);
    const { statement } = prepared;
    const values = params.map(storable);
    if (prepared.columns.length === 0) {
      const { changes } = statement.run(...values);
      return { changes: prepared.isCounted ? Number(changes) : 1, rows: [] };
    }
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

/**
 * `$1` is to SQLite not a position but a parameter whose name is 1, and names cost an object at every call. Where a bare
 * parameter is the limit, SQLite plans by its value, and so compiles the statement anew whenever one is bound.
 */
const positional = (sql: string): string =>
  sql.replace(/\$(\d+)/g, '?$1').replace(/\b(limit|offset) (\?\d+)/g, '$1 ($2 + 0)');

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
