import { closeSync, existsSync, linkSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { syncFile, syncFolder } from '../durable-files.ts';
import { storeError } from './sqlite-errors.ts';
import { openSqliteThread } from './sqlite-thread.ts';
import { busyTimeoutMs } from './sqlite-transactions.ts';

/** A sentence for the operator: a copy cannot be made or put in place. The store is as it was. */
export class CopyRefused extends Error {
  override name = 'CopyRefused';
}

/** Called with the part that is done, from 0 to 1. */
export type OnProgress = (done: number) => void;

/**
 * `maxLogBytes`: half of what the write-ahead log may have before changes are refused (`sqlite-log.ts`): a copy must never cost
 * one.
 */
const defaultLimits = { pagesPerStep: 256, maxLogBytes: 512 * 1024 * 1024 };

/**
 * Copies a database that others use meanwhile, as it is at one moment. They read and write all the while; the log, which cannot
 * begin anew until the copy is made, grows.
 * @param to a file that does not exist yet; made with mode 0600.
 * @throws {CopyRefused} when the log grows so much that the service would suffer.
 */
export async function copySqlite(
  from: string,
  to: string,
  onProgress: OnProgress,
  { pagesPerStep, maxLogBytes } = defaultLimits,
): Promise<void> {
  closeSync(openSync(to, 'wx', 0o600));
  const reader = new DatabaseSync(from, { readOnly: true, timeout: busyTimeoutMs });
  const log = `${from}-wal`;
  try {
    // The read transaction is the moment. Without it, each commit of another connection would make the copy begin anew.
    reader.exec('begin; select 1 from sqlite_master limit 1;');
    await backup(reader, to, {
      rate: pagesPerStep,
      progress: ({ totalPages, remainingPages }) => {
        if (existsSync(log) && statSync(log).size > maxLogBytes) throw new CopyRefused(tooMuchLog);
        onProgress(1 - remainingPages / Math.max(totalPages, 1));
      },
    });
  } catch (error) {
    throw error instanceof CopyRefused ? error : storeError(error);
  } finally {
    reader.close();
  }
}

const tooMuchLog =
  'The backup was given up: so much was written meanwhile that it would soon have kept the server from accepting changes. Nothing was harmed. Try again when there is less load, or write to a faster disk.';

/** @throws {CopyRefused} unless the file is a SQLite database that no process has left in the middle of its work. */
export function refuseUnlessWhole(path: string): void {
  const magic = Buffer.alloc(16);
  try {
    const descriptor = openSync(path, 'r');
    readSync(descriptor, magic, 0, magic.length, 0);
    closeSync(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CopyRefused(
      code === 'ENOENT'
        ? `There is no file ${path}. Nothing was changed.`
        : `${path} cannot be read (${code}). Nothing was changed.`,
    );
  }
  if (magic.toString('latin1') !== 'SQLite format 3\0') throw new CopyRefused(`${path} is not a backup of Signet.`);
  const log = `${path}-wal`;
  if (existsSync(log) && statSync(log).size > 0) {
    throw new CopyRefused(
      `${path} is a database in use, or the copy of one, and no backup: ${log} lies beside it. Make a backup of it first: signet backup <file>`,
    );
  }
}

/** Reads every page and index. @throws {CopyRefused} */
export async function refuseUnlessSound(path: string): Promise<void> {
  const thread = openSqliteThread(path);
  try {
    const [[verdict]] = (await thread.run('pragma integrity_check(1)')) as [[{ integrity_check: string }]];
    if (verdict.integrity_check !== 'ok') {
      throw new CopyRefused(`The copy is damaged, and was not used: ${verdict.integrity_check}`);
    }
  } catch (error) {
    if (error instanceof CopyRefused) throw error;
    throw new CopyRefused(`The copy is damaged, and was not used: ${(error as Error).message}`);
  } finally {
    await thread.end();
  }
}

/** Makes the database one file without a log beside it, which is on disk. */
export function closeSqliteFile(path: string): void {
  const connection = new DatabaseSync(path);
  connection.exec('pragma journal_mode = delete');
  connection.close();
  syncFile(path);
}

/**
 * Keeps every other connection away from a database.
 * @returns a function that lets them in again.
 * @throws {CopyRefused} when a process has it open.
 */
export function lockSqlite(path: string): () => void {
  let connection: DatabaseSync | undefined;
  try {
    connection = new DatabaseSync(path, { timeout: 0 });
    connection.exec('pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive; commit;');
    const held = connection;
    return () => held.close();
  } catch (error) {
    connection?.close();
    const { errcode = 0 } = error as { errcode?: number };
    if (damaged.has(errcode & 0xff)) return () => undefined; // no server runs on such a file, and it is to be replaced
    throw new CopyRefused(
      `A process has ${path} open. Stop the server and every command that uses this store, then try again. Nothing was changed.`,
    );
  }
}
/** CORRUPT, NOTADB. */
const damaged = new Set([11, 26]);

/**
 * Puts a database in the place of another, which is kept under a third name. At every moment there is one in the place.
 * @param path locked by {@link lockSqlite}, if it exists.
 */
export function replaceSqlite(path: string, by: string, keptAs: string): void {
  if (existsSync(path)) linkSync(path, keptAs);
  // Of a database that is damaged or gone, whose log was not copied into it. Another database must not find it.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${keptAs}-wal`);
  rmSync(`${path}-shm`, { force: true });
  renameSync(by, path);
  syncFolder(dirname(path));
}

/** Gives a file its name, for good. */
export function renameForGood(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}
