import { accessSync, chmodSync, closeSync, constants, existsSync, openSync, statfsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { makeFolder } from '../durable-files.ts';
import { counter, gauge, histogram, quickSeconds } from '../metrics.ts';
import type { Tracer } from '../tracing.ts';
import type { CellSettings } from './cell-settings.ts';
import { type Db, type OneDb, type Part, type Step, StoreUnavailable } from './db.ts';
import type { MigratableDb } from './migrate.ts';
import { integer, row, text } from './rows.ts';
import { sql } from './sql.ts';
import { openSqlite, openSqliteToRead } from './sqlite.ts';
import { summaryOf } from './statement-summary.ts';

type DbSettings = {
  readonly dataDir: string;
  /** Absent: SQLite in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly databaseMayLoseCommits?: boolean;
  /** Where the rows of users are, if in several parts. */
  readonly cells?: CellSettings | undefined;
};

/**
 * The store that the configuration names: PostgreSQL when there is a URL, else SQLite in the data folder.
 * @returns a store that has answered once. Its tables are `migrate`'s matter.
 * @throws {StoreUnavailable} when it cannot be reached or opened.
 */
export async function openDb(
  { dataDir, databaseUrl, databaseMayLoseCommits, cells }: DbSettings,
  /** `mayOnlyRead`: while the disk is full or read-only. */
  outside: { log?: Logger; monotonic?: Clock; phases?: Tracer['phases']; mayOnlyRead?: boolean } = {},
): Promise<MigratableDb> {
  let db: MigratableDb | undefined;
  const isDiskUnwritable = outside.mayOnlyRead ? () => isFull(dataDir) || isReadOnly(dataDir) : undefined;
  try {
    db = databaseUrl
      ? await openServer(databaseUrl, cells, { mayLoseCommits: databaseMayLoseCommits })
      : openSqlite(privateFile(dataDir, isDiskUnwritable), { ...outside, isDiskUnwritable });
    await db.query({ sql: 'select 1 as answer' });
    return db;
  } catch (error) {
    await db?.close();
    throw databaseUrl ? error : onFullDisk(error, dataDir);
  }
}

async function openServer(url: string, cells: DbSettings['cells'], settings: { mayLoseCommits?: boolean | undefined }) {
  if (cells === undefined) return (await import('./postgres.ts')).openPostgres(url, settings);
  return (await import('./cells.ts')).openCells(cells, settings);
}

/**
 * The same store for a diagnosis: nothing is made or mended on the way, and of SQLite nothing can be changed.
 * @throws {StoreUnavailable}
 */
export async function openDbToRead(settings: DbSettings): Promise<Db> {
  return settings.databaseUrl ? openDb(settings) : openSqliteToRead(join(settings.dataDir, databaseFile));
}

/** SQLite needs as much to open a file and bring its tables up to date, and says no more than that there was an error. */
const minFreeBytes = 1024 * 1024;

/**
 * @param freeBytes of the disk; undefined where it cannot be asked.
 * @returns the error, or a sentence that names the full or read-only disk as its cause.
 */
export function onFullDisk(error: unknown, dataDir: string, freeBytes = freeBytesOf(dataDir)): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  if (isReadOnly(dataDir)) {
    return new StoreUnavailable(
      `The disk that holds ${dataDir} is read-only, and the database in it cannot be used as it is. Make the disk writable, then start again. No data was lost.`,
      { cause: error.cause },
    );
  }
  if (freeBytes === undefined || freeBytes >= minFreeBytes) return error;
  return new StoreUnavailable(
    `The disk that holds ${dataDir} is full: ${Math.floor(freeBytes / 1024)} KB are free, and Signet needs ${minFreeBytes / 1024} KB to start. Free some space, then start again. No data was lost.`,
    { cause: error.cause },
  );
}

/** Whether SQLite has no room for a change. The disks of PostgreSQL are not ours to see. */
export async function isDiskFull({ dataDir, databaseUrl }: DbSettings, freeBytes = diskFree): Promise<boolean> {
  const free = databaseUrl ? undefined : await freeBytes(dataDir);
  return free !== undefined && free < minFreeBytes;
}

/** The same of a disk that is read-only. */
export const isDiskReadOnly = ({ dataDir, databaseUrl }: DbSettings): boolean => !databaseUrl && isReadOnly(dataDir);

/** In bytes; undefined where the disk cannot be asked. */
export async function diskOf(folder: string): Promise<{ free: number; size: number } | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk && { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize };
}

/** As {@link diskOf}. */
export const diskFree = async (folder: string): Promise<number | undefined> => (await diskOf(folder))?.free;

function freeBytesOf(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const isFull = (folder: string): boolean => (freeBytesOf(folder) ?? minFreeBytes) < minFreeBytes;

/** By its disk, and not by its permissions, which an operator may mend. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/** In the data folder. */
export const databaseFile = 'signet.db';

/** @returns the path of a file that only its owner can read. SQLite gives `-wal` and `-shm` the same mode. */
function privateFile(dataDir: string, isDiskUnwritable = () => false): string {
  const path = join(dataDir, databaseFile);
  try {
    makeFolder(dataDir);
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600); // it may have come out of a backup with another mode
    return path;
  } catch (error) {
    if (existsSync(path) && isDiskUnwritable()) return path;
    throw new StoreUnavailable(`The database file ${path} cannot be opened for writing.`, { cause: error });
  }
}

/**
 * Logs each read and each change from now on, on one line at level `info`: the SQL texts, how many milliseconds the store
 * took, and the error if it failed. Never the values: they are personal data, hashes and secrets.
 * @param monotonic milliseconds.
 */
export function logStatements(db: Db, outside: { log: Logger; monotonic: Clock }): void {
  for (const part of db.parts) logPart(part, outside);
}

function logPart(db: Part, { log, monotonic }: { log: Logger; monotonic: Clock }): void {
  const { query, commit } = db;
  async function timed<Result>(kind: 'read' | 'change', sql: readonly string[], run: () => Promise<Result>) {
    const startedAt = monotonic();
    const line = (error?: unknown) => ({
      sql: sql.map((text) => text.replaceAll(/\s+/g, ' ').trim()),
      ms: Math.round((monotonic() - startedAt) * 100) / 100,
      ...(error === undefined ? {} : { failed: error instanceof Error ? error.name : 'unknown' }),
    });
    try {
      const result = await run();
      log.info(line(), `sql ${kind}`);
      return result;
    } catch (error) {
      log.info(line(error), `sql ${kind}`);
      throw error;
    }
  }
  db.query = (statement) => timed('read', [statement.sql], () => query(statement));
  db.commit = (steps) =>
    timed(
      'change',
      steps.map(({ sql }) => sql),
      () => commit(steps),
    );
}

const pending = gauge('signet_store_pending', 'Reads and changes that the store has not answered.', 'kind');
const durations = histogram(
  'signet_store_duration_seconds',
  'From a read or change to its answer, which for a change comes when it is on disk.',
  quickSeconds,
  'kind',
);
const failures = counter('signet_store_failures_total', 'Reads and changes that the store did not answer.', 'kind');

/** Counts and times each read and each change from now on. @param monotonic milliseconds. */
export function measureStatements(db: Db, monotonic: Clock): void {
  for (const part of db.parts) measurePart(part, monotonic);
}

function measurePart(db: Part, monotonic: Clock): void {
  const { query, commit } = db;
  async function timed<Result>(kind: 'read' | 'change', run: () => Promise<Result>) {
    const startedAt = monotonic();
    pending.add(1, kind);
    try {
      return await run();
    } catch (error) {
      if (error instanceof StoreUnavailable) failures.count(kind);
      throw error;
    } finally {
      pending.add(-1, kind);
      durations.observe((monotonic() - startedAt) / 1000, kind);
    }
  }
  db.query = (statement) => timed('read', () => query(statement));
  db.commit = (steps) => timed('change', () => commit(steps));
}

/** From now on each read and each change in the course of a request is a span, named for what it does. */
export function traceStatements(db: Db, tracer: Tracer): void {
  for (const part of db.parts) tracePart(part, tracer);
}

function tracePart(db: OneDb, tracer: Tracer): void {
  const { query, commit } = db;
  const system = db.engine === 'postgres' ? 'postgresql' : 'sqlite';
  function traced<Result>(steps: readonly Step[], run: () => Promise<Result>): Promise<Result> {
    const { summary, operation, table } = summaryOf(steps);
    const attributes = {
      'db.system.name': system,
      'db.operation.name': operation,
      'db.collection.name': table,
      'db.query.summary': summary,
      'db.operation.batch.size': steps.length > 1 ? steps.length : undefined,
    };
    return tracer.span(summary, attributes, run, db.engine === 'postgres');
  }
  db.query = (statement) => traced([statement], () => query(statement));
  db.commit = (steps) => traced(steps, () => commit(steps));
}

const Verdict = row('pragma', { integrity_check: text });

/** Reads every page and index of SQLite. @returns the first thing that is wrong, in SQLite's words. */
export async function findDamage(db: Db): Promise<string | undefined> {
  const verdict = await db.shared.get(Verdict, sql`pragma integrity_check(1)`);
  return verdict?.integrity_check === 'ok' ? undefined : (verdict?.integrity_check ?? 'it cannot be read');
}

const Waits = row('pg_stat_activity', { standby: integer, lock: integer });

/** For how many seconds the oldest change waits for a synchronous standby, and for a lock, on PostgreSQL. */
export async function longestWaits(db: Db): Promise<{ standby: number; lock: number }> {
  const waits = await db.shared.get(
    Waits,
    sql`select coalesce(max(case when wait_event = 'SyncRep' then seconds end), 0) as standby,
               coalesce(max(case when wait_event_type = 'Lock' then seconds end), 0) as lock
          from (select wait_event, wait_event_type,
                       extract(epoch from clock_timestamp() - query_start)::bigint as seconds
                  from pg_stat_activity where datname = current_database() and state = 'active') as active`,
  );
  return waits ?? { standby: 0, lock: 0 };
}

const Size = row('pg_database', { size: integer });

/** How much the database takes, in bytes; of SQLite also its write-ahead log. */
export async function storeBytes(db: Db, { dataDir }: DbSettings): Promise<{ database?: number; log?: number }> {
  if (db.engine === 'postgres') {
    return { database: (await db.shared.get(Size, sql`select pg_database_size(current_database()) as size`))?.size };
  }
  const sizeOf = async (path: string) => (await stat(path).catch(() => undefined))?.size;
  const path = join(dataDir, databaseFile);
  return { database: await sizeOf(path), log: await sizeOf(`${path}-wal`) };
}
