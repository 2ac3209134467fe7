import { chmodSync, closeSync, openSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnavailable } from './db.ts';
import { makeFolder } from './make-folder.ts';
import type { MigratableDb } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

type DbSettings = {
  readonly dataDir: string;
  /** Absent: SQLite in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly databaseMayLoseCommits?: boolean;
};

/**
 * The store that the configuration names: PostgreSQL when there is a URL, else SQLite in the data folder.
 * @returns a store that has answered once. Its tables are `migrate`'s matter.
 * @throws {StoreUnavailable} when it cannot be reached or opened.
 */
export async function openDb(config: DbSettings): Promise<MigratableDb> {
  try {
    return await openAnswering(config);
  } catch (error) {
    throw config.databaseUrl ? error : onFullDisk(error, config.dataDir);
  }
}

async function openAnswering({ dataDir, databaseUrl, databaseMayLoseCommits }: DbSettings) {
  const db = databaseUrl
    ? openPostgres(databaseUrl, { mayLoseCommits: databaseMayLoseCommits })
    : openSqlite(privateFile(dataDir));
  try {
    await db.query({ sql: 'select 1 as answer' });
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** SQLite needs as much to open a file and bring its tables up to date, and says no more than that there was an error. */
const minFreeBytes = 1024 * 1024;

/**
 * @param freeBytes of the disk; undefined where it cannot be asked.
 * @returns the error, or a sentence that names the full disk as its cause.
 */
export function onFullDisk(error: unknown, dataDir: string, freeBytes = freeBytesOf(dataDir)): unknown {
  if (!(error instanceof StoreUnavailable) || freeBytes === undefined || freeBytes >= minFreeBytes) return error;
  return new StoreUnavailable(
    `The disk that holds ${dataDir} is full: ${Math.floor(freeBytes / 1024)} KB are free, and Signet needs ${minFreeBytes / 1024} KB to start. Free some space, then start again. No data was lost.`,
    { cause: error.cause },
  );
}

function freeBytesOf(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** In the data folder. */
export const databaseFile = 'signet.db';

/** @returns the path of a file that only its owner can read. SQLite gives `-wal` and `-shm` the same mode. */
function privateFile(dataDir: string): string {
  const path = join(dataDir, databaseFile);
  try {
    makeFolder(dataDir);
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600); // it may have come out of a backup with another mode
    return path;
  } catch (error) {
    throw new StoreUnavailable(`The database file ${path} cannot be opened for writing.`, { cause: error });
  }
}
