import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Where a run keeps its databases: in memory where the machine has room for it. What is tested is the same, each commit
 * still asks for its flush, and a flush of a disk takes milliseconds.
 */
const memory = '/dev/shm';
/** Bytes. A run has some twenty databases at a time, of 10 MB each with PostgreSQL, and PostgreSQL's own log. */
const enough = 2 ** 31;
const prefix = 'signet-test-run-';

/** @returns the path of a new folder in the run's own folder, or, for a file that runs alone, in the system's. */
export const scratchFolder = (name: string): Promise<string> =>
  mkdtemp(join(process.env.TEST_SCRATCH ?? tmpdir(), `signet-${name}-`));

/** Makes the folder of this run and removes those of runs that were killed. @returns how to remove it. */
export function openScratch(): () => void {
  const parent = hasRoom() ? memory : tmpdir();
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : process.pid;
    if (!isRunning(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, prefix + process.pid);
  mkdirSync(folder, { mode: 0o711 }); // PostgreSQL, which may run as another user, goes through it
  process.env.TEST_SCRATCH = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > enough;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
