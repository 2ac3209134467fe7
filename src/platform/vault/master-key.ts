import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, type MasterKeySource, parseMasterKey } from '../../app/config.ts';
import type { Db } from '../db/db.ts';
import { makeFolder } from '../db/make-folder.ts';
import { databaseFile } from '../db/open.ts';
import { findMasterKeyCheck, keepMasterKeyCheck } from './store.ts';
import { openVault, type Vault } from './vault.ts';

/**
 * Reads the master key, or makes it where the embedded default allows that.
 * @returns 32 bytes.
 * @throws {ConfigError} when it is missing, malformed, or readable by others.
 */
export function loadMasterKey(source: MasterKeySource): Buffer {
  if (source.from === 'file' && source.mayCreate) prepareMasterKeyFile(source.path);
  return readMasterKey(source);
}

/** As {@link loadMasterKey}, for whoever may not make one. @throws {ConfigError} also when there is none. */
export function readMasterKey(source: MasterKeySource): Buffer {
  if (source.from === 'value') return source.key;
  if (source.mayCreate && !existsSync(source.path)) refuseWithoutKey(source.path);
  try {
    // A file that an orchestrator mounts has the mode that it gives; the one that we made is nobody else's business.
    if (source.mayCreate && (statSync(source.path).mode & 0o077) !== 0) {
      throw new ConfigError(`${source.path} can be read by other users of this machine. Run: chmod 600 ${source.path}`);
    }
    return parseMasterKey(source.path, readFileSync(source.path, 'utf8'));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw unreadable(source.path, error);
  }
}

function prepareMasterKeyFile(path: string): void {
  try {
    if (!existsSync(path)) createMasterKeyFile(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw unreadable(path, error);
  }
}

const unreadable = (path: string, error: unknown) =>
  new ConfigError(`The master key file ${path} cannot be read or made: ${(error as Error).message}`);

/** @throws {ConfigError} when there is a database that only the missing key opens. */
function refuseWithoutKey(path: string): void {
  if (!existsSync(join(dirname(path), databaseFile))) return;
  throw new ConfigError(
    `${path} is missing, and the database beside it is sealed under the key that was in it. Restore the file from its backup. Nothing was changed.`,
  );
}

/** Written aside and linked into place, so that of two first starts one wins and nobody reads half a key. */
function createMasterKeyFile(path: string): void {
  makeFolder(dirname(path));
  refuseWithoutKey(path);
  const aside = `${path}.${process.pid}.new`;
  writeFileSync(aside, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  chmodSync(aside, 0o600);
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(aside);
  }
}

/** As {@link openVaultFor}; at the very first start it seals the known word, too. */
export async function prepareVaultFor(db: Db, masterKey: Buffer): Promise<Vault> {
  await keepMasterKeyCheck(db, openVault(masterKey).seal('master-key-check', 'signet'));
  return openVaultFor(db, masterKey);
}

/**
 * Opens the vault and proves that it is the one this store was sealed with: the first start seals a known word, every
 * later start opens it.
 * @throws {ConfigError} when the key does not open what is stored: serving on would make new keys beside unreadable ones.
 */
export async function openVaultFor(db: Db, masterKey: Buffer): Promise<Vault> {
  const vault = openVault(masterKey);
  const check = await findMasterKeyCheck(db);
  if (check === '') {
    throw new ConfigError(
      'The database has not been set up yet. Start the server (signet serve), or run: signet migrate. Nothing was changed.',
    );
  }
  try {
    vault.open('master-key-check', check);
  } catch {
    throw new ConfigError(
      'The master key does not open the keys in this database. Start with the key that the database was first used with (SIGNET_MASTER_KEY, SIGNET_MASTER_KEY_FILE, or master.key in the data folder). Nothing was changed.',
    );
  }
  return vault;
}
