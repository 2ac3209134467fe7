import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a file holds is on disk afterwards. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A file system that cannot flush a folder, as of some network drives and containers; a folder that may be written and not read. */
const impossible = new Set(['EINVAL', 'ENOTSUP', 'EPERM', 'EACCES']);

/** The names in a folder are on disk afterwards, if that can be: without it a loss of power may take a new file away, whole. */
export function syncFolder(path: string): void {
  try {
    syncFile(path);
  } catch (error) {
    if (!impossible.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/**
 * Makes a folder that only its owner can open, and those above it. Not by `recursive: true`, which tries for ever where
 * a folder exists and takes no other, as in `/proc`.
 * @throws the error of the system.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another first start was quicker
  }
  syncFolder(dirname(path));
}
