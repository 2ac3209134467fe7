import { statSync } from 'node:fs';
import type { Clock } from '../clock.ts';

/** Milliseconds between two looks for reads. */
const lookMs = 1_000;

export type Place = ReturnType<typeof openPlace>;

/**
 * Whether the files of a database that is open are still those at their paths. If its folder is replaced, or a disk mounted over it, the
 * system goes on writing to the files of before: what is acknowledged then is lost with the next start, and commands, and workers
 * that are replaced, work on another database. A file keeps its device and inode while it is open.
 * @param path of the database, which has just been opened.
 */
export function openPlace(path: string, monotonic: Clock) {
  const database = fileAt(path);
  let log: string | undefined;
  let lookedAt = monotonic();
  let hasMoved = false;

  function look(): boolean {
    lookedAt = monotonic();
    const found = fileAt(`${path}-wal`);
    if (found !== gone) log ??= found; // SQLite makes it when it first reads
    hasMoved = fileAt(path) !== database || (log !== undefined && found !== log);
    return hasMoved;
  }

  return {
    /** Two calls of the system, a few microseconds. */
    hasMoved: look,
    /** The same, looked for once a second while all is well. */
    hasMovedLately: (): boolean => (hasMoved || monotonic() - lookedAt >= lookMs ? look() : false),
    /** With the last connection SQLite takes the log away, and makes another for the next. */
    closed(): void {
      log = undefined;
    },
    sentence: `The database file ${path} is not the one that this server has open any more: it or its folder was moved, replaced or removed, or a disk was mounted over it. Nothing is read or changed until it is back. To use what is there now, restart the server; if that is an older copy, run signet restore --after-copy before.`,
  };
}

const gone = 'gone';

function fileAt(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : gone;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? gone; // a folder that may not be searched any more
  }
}
