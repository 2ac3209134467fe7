import { statSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { openHeader } from './sqlite-header.ts';

/** Milliseconds between two looks for reads. */
const lookMs = 1_000;

export type Place = ReturnType<typeof openPlace>;

/**
 * Whether the files of a database that is open are still those at their paths. If its folder is replaced, or a disk mounted over it, the
 * system goes on writing to the files of before: what is acknowledged then is lost with the next start, and commands, and workers
 * that are replaced, work on another database; without the same index of the log they write over each other's changes. A file
 * keeps its device and inode while it is open, and also if another one is written over it: that, its header tells.
 * @param path of the database, which has just been opened.
 */
export function openPlace(path: string, monotonic: Clock) {
  const database = fileAt(path);
  const header = openHeader(path);
  /** SQLite makes these when it first reads. */
  const beside = ['-wal', '-shm'].map((suffix) => ({ path: path + suffix, found: gone }));
  let lookedAt = monotonic();
  let problem: string | undefined;
  let isOverwritten = false;

  function look(): boolean {
    lookedAt = monotonic();
    problem = findProblem();
    return problem !== undefined;
  }

  function findProblem(): string | undefined {
    const found = fileAt(path);
    if (found !== database) return forbidden.has(found) ? closed(path) : moved(path);
    isOverwritten ||= header.isOfAnother(); // for good: the log and what is in memory do not belong to what is there now
    if (isOverwritten) return overwritten(path);
    for (const file of beside) {
      const found = fileAt(file.path);
      if (file.found === gone) file.found = found;
      else if (found !== file.found) return lost(file.path);
    }
    return undefined;
  }

  return {
    /** Some calls of the system, twenty microseconds. */
    hasMoved: look,
    /** The same, looked for once a second while all is well. */
    hasMovedLately: (): boolean => (problem !== undefined || monotonic() - lookedAt >= lookMs ? look() : false),
    /** With the last connection SQLite takes the log and its index away, and makes others for the next. */
    closed(): void {
      header.forget();
      for (const file of beside) file.found = gone;
    },
    /** Call it when no connection is open any more. */
    end: header.close,
    /** What is wrong, and what to do. */
    get sentence(): string {
      return problem ?? moved(path);
    },
  };
}

const moved = (path: string) =>
  `The database file ${path} is not the one that this server has open any more: it or its folder was moved, replaced or removed, or a disk was mounted over it. Nothing is read or changed until it is back. To use what is there now, restart the server; if that is an older copy, run signet restore --after-copy before.`;

const closed = (path: string) =>
  `The folder of the database file ${path} may not be searched by this server any more: its owner or mode was changed. Nothing is read or changed until it may be again. Nothing was lost.`;

const lost = (path: string) =>
  `${path}, which belongs to the database, was removed or replaced while this server has it open. Nothing is read or changed until it is back. Run no other command on the database; stop the server with SIGTERM, which saves all that it has confirmed, and start it again.`;

const overwritten = (path: string) =>
  `The database file ${path} was overwritten while this server has it open, by an older copy or by something else. Nothing is read or changed any more, and what is in the file now is of no use: its log belongs to the file before. Stop the server, and put a backup in its place with signet restore.`;

const gone = 'gone';
const forbidden = new Set(['EACCES', 'EPERM']);

function fileAt(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : gone;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? gone; // a folder that may not be searched any more
  }
}
