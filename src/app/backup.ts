import { chownSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../oauth/deps.ts';
import { type Clock, now } from '../platform/clock.ts';
import { markCopy } from '../platform/copy-mark.ts';
import { databaseFile } from '../platform/db/open.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import {
  CopyRefused,
  closeSqliteFile,
  copySqlite,
  lockSqlite,
  type OnProgress,
  refuseUnlessSound,
  refuseUnlessWhole,
  renameForGood,
  replaceSqlite,
} from '../platform/db/sqlite-backup.ts';
import { newId } from '../platform/ids.ts';
import type { Config } from './config.ts';
import { closeDeps, openDeps } from './open-deps.ts';
import { completeRestore, type Restored, refuseWhileRunning } from './restore.ts';

const onPostgres =
  'The store is PostgreSQL, which has backups of its own: make them with pg_dump or pg_basebackup, restore them with its tools, and then run: signet restore --after-copy. docs/backup.md has the steps.';

/**
 * Copies the SQLite store while servers use it, checks the copy, and only then gives it its name. What an interrupted call has
 * left is removed by the next one.
 * @throws {CopyRefused}
 */
export async function backUp(deps: Deps, caller: Caller, path: string, onProgress: OnProgress) {
  if (deps.config.databaseUrl !== undefined) throw new CopyRefused(onPostgres);
  const file = resolve(path);
  if (existsSync(file)) throw new CopyRefused(`${file} exists already. Choose another name, or remove it first.`);
  if (!existsSync(dirname(file))) throw new CopyRefused(`There is no folder ${dirname(file)}.`);
  removeAbandoned(file);
  const part = `${file}.${process.pid}.part`;
  const taken_at = now(deps);
  try {
    await copySqlite(join(deps.config.dataDir, databaseFile), part, onProgress);
    const copy = openSqlite(part);
    await markCopy(copy, newId('rst'), taken_at).finally(() => copy.close());
    await refuseUnlessSound(part);
    closeSqliteFile(part);
    const { size: bytes } = statSync(part);
    const event = auditEvent({ action: 'store.backed_up', ...caller, after: { file, bytes, taken_at } }, now(deps));
    await deps.db.shared.run(event.statement); // first: no copy of personal data leaves without it
    renameForGood(part, file);
    return { file, bytes, taken_at };
  } finally {
    for (const suffix of suffixes) rmSync(part + suffix, { force: true });
  }
}

const suffixes = ['', '-journal', '-wal', '-shm'];

/** What processes that are gone have left beside the file. */
function removeAbandoned(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    const [, pid] = name.startsWith(`${basename(file)}.`) ? (/\.(\d+)\.part(-\w+)?$/.exec(name) ?? []) : [];
    if (pid !== undefined && isOver(Number(pid))) rmSync(join(dirname(file), name), { force: true });
  }
}

/** Also of our own number: this process has made nothing yet, and in a container each command may be number 1. */
function isOver(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

type Outside = { clock: Clock; log: Logger };
type Restoring = { caller: Caller; reason: string | undefined };

/** In the data folder: the copy, until it is complete. */
const restoringFolder = 'restoring';

/**
 * Puts a backup in the place of the SQLite store, after what the copy of a store must not keep has ended in it. The store of before
 * is kept under another name. An interrupted call has changed nothing, and is repeated.
 * @param force whether there may be a store in the place.
 * @throws {CopyRefused}
 */
export async function restoreBackup(
  config: Config,
  outside: Outside,
  { path, force, ...restoring }: Restoring & { path: string; force: boolean },
): Promise<Restored & { replaced: string | null }> {
  if (config.databaseUrl !== undefined) throw new CopyRefused(onPostgres);
  const target = join(config.dataDir, databaseFile);
  refuseUnlessWhole(path);
  const hadStore = existsSync(target);
  if (hadStore && !force) {
    throw new CopyRefused(
      `There is a store in ${config.dataDir}. To replace it, stop the server and add --force: the store of now is then kept beside it under another name. Nothing was changed.`,
    );
  }
  const unlock = hadStore ? lockSqlite(target) : () => undefined;
  const folder = join(config.dataDir, restoringFolder);
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const copy = join(folder, databaseFile);
    await copyFile(path, copy);
    await refuseUnlessSound(copy);
    const restored = await complete({ ...config, dataDir: folder }, outside, restoring);
    closeSqliteFile(copy);
    if (process.getuid?.() === 0) giveToOwnerOf(config.dataDir, copy);
    const replaced = `${target}.replaced-${outside.clock()}`;
    replaceSqlite(target, copy, replaced);
    return { ...restored, replaced: hadStore ? replaced : null };
  } finally {
    unlock();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The server, which is not run by root, must be able to open it. */
export function giveToOwnerOf(folder: string, file: string): void {
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}

/** For a store that the tools of its database have put in place. @throws {CopyRefused} while a server runs on it. */
export const restoreInPlace = (config: Config, outside: Outside, restoring: Restoring): Promise<Restored> =>
  complete(config, outside, restoring, refuseWhileRunning);

async function complete(
  config: Config,
  { clock, log }: Outside,
  { caller, reason }: Restoring,
  check?: (deps: Deps) => Promise<void>,
): Promise<Restored> {
  const deps = await openDeps(config, { clock, log, role: 'restore' });
  try {
    await check?.(deps);
    return await completeRestore(deps, caller, reason);
  } finally {
    await closeDeps(deps);
  }
}
