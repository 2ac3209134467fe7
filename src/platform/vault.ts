import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Db } from './db/db.ts';
import { databaseFile, makeFolder } from './db/open.ts';
import { ConfigError } from './errors.ts';
import { findGeneration, findMasterKeyCheck, keepMasterKeyCheck } from './store.ts';

type MacPurpose = 'refresh-token' | 'passkey-challenge' | 'audit-log' | 'backup-code';

export class WrongMasterKey extends Error {
  override name = 'WrongMasterKey';
}

export type Vault = ReturnType<typeof openVault>;

/**
 * Holds the master key, which is not in the database: private signing keys, TOTP secrets and upstream secrets are sealed,
 * refresh tokens are authenticated, backup codes are hashed.
 *
 * A key with random 96-bit nonces must not seal more than 2^32 messages (SP 800-38D §8.3). So stored secrets have a
 * key that only signed-in users and operators cause to be used; messages that anyone can cause, any number of times, have
 * others.
 * @param masterKey 32 random bytes. Each use gets a key of its own by HKDF (RFC 5869).
 * @param generation of the store, another one after each restore. What works once is remembered in the store and forgotten by
 * a restore, so what browsers keep must not outlive one.
 */
export function openVault(masterKey: Buffer, generation = '') {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', masterKey, 'signet/1', use, 32));
  const sealingKey = derive('seal');
  const macKey = (use: string) => createSecretKey(derive(use)); // imported once, not at every MAC
  const ofGeneration = (use: string) => (generation === '' ? use : `${use}/${generation}`);
  const macKeys = {
    'refresh-token': macKey('refresh-token'),
    'passkey-challenge': macKey(ofGeneration('passkey-challenge')),
    'audit-log': macKey('audit-log'),
    'backup-code': macKey('backup-code'),
  };
  return {
    ...sealer(0, () => sealingKey),
    /** For state in the browser: cookies and hidden fields. Each message has a key of its own. */
    browser: manyMessages(derive(ofGeneration('browser'))),
    /** For queued mail. Each message has a key of its own. */
    mail: manyMessages(derive('mail')),
    /** HMAC-SHA-256 (RFC 2104) under a key of its own: 32 bytes. No number of messages weakens the key. */
    mac: (purpose: MacPurpose, message: Buffer): Buffer =>
      createHmac('sha256', macKeys[purpose]).update(message).digest(),
  };
}

/** The key of a message is an HMAC over its random salt, so that two practically never share key and nonce. */
const manyMessages = (key: Buffer) => sealer(16, (salt) => createHmac('sha256', key).update(salt).digest());

const nonceLength = 12;

/** Authenticated encryption, AES-256-GCM (NIST SP 800-38D). The sealed form is salt, nonce, ciphertext and tag. */
function sealer(saltLength: number, keyFor: (salt: Buffer) => Buffer) {
  return {
    /** @param purpose bound as associated data: a text sealed for one purpose cannot be opened for another. */
    seal(purpose: string, plaintext: string): string {
      const salt = randomBytes(saltLength);
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: 16 });
      cipher.setAAD(Buffer.from(purpose));
      const parts = [salt, nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(parts).toString('base64url');
    },
    /** @throws {WrongMasterKey} if it was sealed under another key or for another purpose, or has been altered. */
    open(purpose: string, sealed: string): string {
      const bytes = Buffer.from(sealed, 'base64url');
      const nonce = bytes.subarray(saltLength, saltLength + nonceLength);
      try {
        const key = keyFor(bytes.subarray(0, saltLength));
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
        decipher.setAAD(Buffer.from(purpose));
        decipher.setAuthTag(bytes.subarray(-16));
        return (
          decipher.update(bytes.subarray(saltLength + nonceLength, -16), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch (cause) {
        const message = `The value sealed for ${purpose} cannot be decrypted with this master key.`;
        throw new WrongMasterKey(message, { cause });
      }
    },
  };
}

/** Where the master key comes from. One that `mayCreate` is made at first start, with mode 0600; the others must exist. */
export type MasterKeySource = { from: 'value'; key: Buffer } | { from: 'file'; path: string; mayCreate: boolean };

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
    asConfigError(source.path, () => createMasterKeyFile(source.path));
  return readMasterKey(source);
}

/** As {@link loadMasterKey}, but never makes a key. @throws {ConfigError} also when there is none. */
export function readMasterKey(source: MasterKeySource): Buffer {
  if (source.from === 'value') return source.key;
  const { path, mayCreate } = source;
  if (mayCreate && !existsSync(path)) refuseWithoutKey(path);
  return asConfigError(path, () => {
    // An orchestrator chooses the mode of a file that it mounts; one that we made must be private.
    if (mayCreate && (statSync(path).mode & 0o077) !== 0) {
      throw new ConfigError(`${path} can be read by other users of this machine. Run: chmod 600 ${path}`);
    }
    return parseMasterKey(path, readFileSync(path, 'utf8'));
  });
}

function asConfigError<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The master key file ${path} cannot be read or created: ${(error as Error).message}`);
  }
}

/** @throws {ConfigError} when there is a database that only the missing key opens. */
function refuseWithoutKey(path: string): void {
  if (!existsSync(join(dirname(path), databaseFile))) return;
  throw new ConfigError(
    `${path} is missing, but the database next to it is encrypted with the key that was in it. Restore the file from a backup. Nothing was changed.`,
  );
}

/** Written aside and linked into place, so that of two first starts one wins and no process reads half a key. */
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
 * @throws {ConfigError} when the key does not open what is stored: going on would make new keys beside unreadable ones.
 */
export async function openVaultFor(db: Db, masterKey: Buffer): Promise<Vault> {
  const vault = openVault(masterKey, await findGeneration(db));
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
      'The master key does not match this database. Start with the key that the database was first used with (SIGNET_MASTER_KEY, SIGNET_MASTER_KEY_FILE, or master.key in the data folder). Nothing was changed.',
    );
  }
  return vault;
}
