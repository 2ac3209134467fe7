import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Compiles slow-fsync.c.
 * @param folder for the library, which has to stay there while the server runs.
 * @returns the environment of a server whose disk takes `ms` milliseconds more for each flush; a sentence where it cannot.
 */
export function slowFsync(ms: number, folder: string): Record<string, string> | string {
  if (process.platform !== 'linux') return '--fsync-ms needs Linux: it is skipped.';
  const library = join(folder, 'slow-fsync.so');
  const source = join(import.meta.dirname, 'slow-fsync.c');
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source], { encoding: 'utf8' });
  if (status !== 0) return `--fsync-ms needs a C compiler, called cc: it is skipped. ${stderr ?? ''}`.trim();
  return { LD_PRELOAD: library, SLOW_FSYNC_MS: String(ms) };
}
