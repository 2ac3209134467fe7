import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { databaseFile } from './db/open.ts';
import { makeFolder, syncFile } from './durable-files.ts';
import { ConfigError } from './errors.ts';
import { namedFileProblem } from './named-files.ts';

/**
 * Where the master key comes from. One that `mayCreate` is made at first start, with mode 0600; the others must exist, and are named by a
 * setting.
 */
export type MasterKeySource =
  | { from: 'value'; key: Buffer }
  | { from: 'file'; path: string; mayCreate: true }
  | { from: 'file'; path: string; mayCreate: false; setting: string };

/** @param name the setting or file that the text came from. @throws {ConfigError} never with the text in it. */
export function parseMasterKey(name: string, text: string): Buffer {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  // Strictly: Node's decoder stops at the first "=", and would take the first of two keys in a file for the key.
  if (key.length !== 32 || !/^([0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(trimmed)) {
    throw new ConfigError(
      `${name} must be 32 random bytes in base64 or hex. Create them with: openssl rand -base64 32`,
    );
  }
  return key;
}

/**
 * Reads the master key, or makes it where the embedded default allows that.
 * @throws {ConfigError} when it is missing, malformed, or readable by others.
 */
export function loadMasterKey(source: MasterKeySource): Buffer {
  if (source.from === 'file' && source.mayCreate && !existsSync(source.path))
    asConfigError(unusable(source.path), () => createMasterKeyFile(source.path));
  return readMasterKey(source);
}

/** As {@link loadMasterKey}, but never makes a key. @throws {ConfigError} also when there is none. */
export function readMasterKey(source: MasterKeySource): Buffer {
  if (source.from === 'value') return source.key;
  const { path } = source;
  if (!source.mayCreate) {
    // An orchestrator chooses the mode of a file that it mounts.
    return asConfigError(
      (error) => `${namedFileProblem(source.setting, error)} Nothing was changed.`,
      () => parseMasterKey(path, readFileSync(path, 'utf8')),
    );
  }
  if (!existsSync(path)) {
    refuseWithoutKey(path);
    throw new ConfigError(
      `There is no master key in ${path}. For a store that was copied here, put the copy of its key there; for a new one, signet serve makes a key. Nothing was changed.`,
    );
  }
  return asConfigError(unusable(path), () => {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new ConfigError(`${path} can be read by other users of this machine. Run: chmod 600 ${path}`);
    }
    return parseMasterKey(path, readFileSync(path, 'utf8'));
  });
}

const unusable = (path: string) => (error: unknown) =>
  `The master key file ${path} cannot be read or created (${(error as NodeJS.ErrnoException).code}). Let the user of this process read and write it and its folder, or name another folder as SIGNET_DATA_DIR.`;

function asConfigError<Result>(sentenceOf: (error: unknown) => string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(sentenceOf(error));
  }
}

/** @throws {ConfigError} when there is a database that only the missing key opens. */
function refuseWithoutKey(path: string): void {
  if (!existsSync(join(dirname(path), databaseFile))) return;
  throw new ConfigError(
    `${path} is missing, but the database next to it is encrypted with the key that was in it. Restore the file from a backup. Nothing was changed.`,
  );
}

/**
 * Written aside, flushed and linked into place, so that of two first starts one wins and no process reads half a key, and a loss of
 * power takes no key from what was encrypted with it. Its name is flushed by SQLite, which makes the database beside it next.
 */
function createMasterKeyFile(path: string): void {
  makeFolder(dirname(path));
  refuseWithoutKey(path);
  const aside = `${path}.${process.pid}.new`;
  writeFileSync(aside, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  chmodSync(aside, 0o600);
  syncFile(aside);
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(aside);
  }
}
