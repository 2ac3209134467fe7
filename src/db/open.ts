import { chmodSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { StoreUnavailable } from './db.ts';
import { makeFolder } from './make-folder.ts';
import type { MigratableDb } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/**
 * The store that the configuration names: PostgreSQL when there is a URL, else SQLite in the data folder.
 * @returns a store that has answered once. Its tables are `migrate`'s matter.
 * @throws {StoreUnavailable} when it cannot be reached or opened.
 */
export async function openDb(
  config: Pick<Config, 'dataDir' | 'databaseUrl'> & Partial<Pick<Config, 'databaseMayLoseCommits'>>,
): Promise<MigratableDb> {
  const db = config.databaseUrl
    ? openPostgres(config.databaseUrl, { mayLoseCommits: config.databaseMayLoseCommits })
    : openSqlite(privateFile(config.dataDir));
  try {
    await db.get('select 1 as answer');
    return db;
  } catch (error) {
    await db.close();
    throw error;
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
