import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, type MasterKeySource, parseMasterKey } from '../config.ts';
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
  if (source.from === 'value') return source.key;
  try {
    if (source.mayCreate && !existsSync(source.path)) createMasterKeyFile(source.path);
    // A file that an orchestrator mounts has the mode that it gives; the one that we made is nobody else's business.
    if (source.mayCreate && (statSync(source.path).mode & 0o077) !== 0) {
      throw new ConfigError(`${source.path} can be read by other users of this machine. Run: chmod 600 ${source.path}`);
    }
    return parseMasterKey(source.path, readFileSync(source.path, 'utf8'));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The master key file ${source.path} cannot be read or made: ${(error as Error).message}`);
  }
}

/** Written aside and linked into place, so that of two first starts one wins and nobody reads half a key. */
function createMasterKeyFile(path: string): void {
  makeFolder(dirname(path));
  if (existsSync(join(dirname(path), databaseFile))) {
    throw new ConfigError(
      `${path} is missing, and the database beside it is sealed under the key that was in it. Restore the file from its backup. Nothing was changed.`,
    );
  }
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

/**
 * Opens the vault and proves that it is the one this store was sealed with: the first start seals a known word, every
 * later start opens it.
 * @throws {ConfigError} when the key does not open what is stored: serving on would make new keys beside unreadable ones.
 */
export async function openVaultFor(db: Db, masterKey: Buffer): Promise<Vault> {
  const vault = openVault(masterKey);
  await keepMasterKeyCheck(db, vault.seal('master-key-check', 'signet'));
  try {
    vault.open('master-key-check', await findMasterKeyCheck(db));
  } catch {
    throw new ConfigError(
      'The master key does not open the keys in this database. Start with the key that the database was first used with (SIGNET_MASTER_KEY, SIGNET_MASTER_KEY_FILE, or master.key in the data folder). Nothing was changed.',
    );
  }
  return vault;
}
