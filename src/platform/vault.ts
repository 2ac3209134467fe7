import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { Db } from './db/db.ts';
import type { Sql } from './db/sql.ts';
import { tables } from './db/tables.ts';
import { ConfigError } from './errors.ts';
import { digest } from './ids.ts';
import {
  findGeneration,
  findMasterKeyCheck,
  keepMasterKeyCheck,
  keepRetiredKey,
  listRetiredKeys,
  replaceMasterKeyCheck,
  replaceRetiredKey,
} from './store.ts';

type MacPurpose =
  | 'refresh-token'
  | 'passkey-challenge'
  | 'dpop-nonce'
  | 'audit-log'
  | 'backup-code'
  | 'unsubscribe'
  | 'status-list';

export class WrongMasterKey extends Error {
  override name = 'WrongMasterKey';
}

export type Vault = ReturnType<typeof openVault>;

/**
 * What is left of a master key that is no longer used: keys that verify, and open nothing. `auditSeq`: the newest event of the audit
 * log that may be sealed under it; `auditSeqs`: those of other parts of the store, by their schemas.
 */
export type RetiredKey = NewestSealed & { macs: Partial<Record<MacPurpose, string>> };
export type NewestSealed = { auditSeq: number; auditSeqs?: Readonly<Record<string, number>> | undefined };
/** Of an event of the audit log. */
type AuditPlace = { seq: number; schema?: string | undefined };

/** What a retired key goes on to verify: it is out of our hands, or never written anew. */
const lastingMacs = ['refresh-token', 'audit-log', 'backup-code', 'status-list'] as const satisfies MacPurpose[];
/** What an attacker with a stolen master key could make: not kept of such a key. */
const credentialMacs: readonly MacPurpose[] = ['refresh-token', 'backup-code'];

type Keys = ReturnType<typeof deriveKeys>;

/** What is stored under these leaves for another store, whose master key is another. */
type ExportedMac = 'backup-code';

/** Each use of a master key gets a key of its own by HKDF (RFC 5869). */
function deriveKeys(masterKey: Buffer, generation: string) {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', masterKey, 'signet/1', use, 32));
  const ofGeneration = (use: string) => (generation === '' ? use : `${use}/${generation}`);
  const macs: Record<MacPurpose, Buffer> = {
    'refresh-token': derive('refresh-token'),
    'dpop-nonce': derive('dpop-nonce'),
    'passkey-challenge': derive(ofGeneration('passkey-challenge')),
    'audit-log': derive('audit-log'),
    'backup-code': derive('backup-code'),
    unsubscribe: derive('unsubscribe'),
    'status-list': derive(ofGeneration('status-list')),
  };
  const macKeys = Object.fromEntries(
    Object.entries(macs).map(([purpose, key]) => [purpose, createSecretKey(key)]), // imported once, not at every MAC
  ) as Record<MacPurpose, KeyObject>;
  const id = derive('id').toString('base64url', 0, 12);
  return { id, seal: derive('seal'), browser: derive(ofGeneration('browser')), mail: derive('mail'), macs, macKeys };
}

type OtherKeys = {
  /** Master keys that open, too, while one replaces another. */
  others?: readonly Buffer[];
  retired?: readonly RetiredKey[];
};

/**
 * Holds the master key, which is not in the database: private signing keys, TOTP secrets and upstream secrets are sealed,
 * refresh tokens are authenticated, backup codes are hashed.
 *
 * A key with random 96-bit nonces must not seal more than 2^32 messages (SP 800-38D §8.3). So stored secrets have a
 * key that only signed-in users and operators cause to be used; messages that anyone can cause, any number of times, have
 * others.
 * @param masterKey 32 random bytes.
 * @param generation of the store, another one after each restore. What works once is remembered in the store and forgotten by
 * a restore, so what browsers keep must not outlive one.
 */
export function openVault(masterKey: Buffer, generation = '', { others = [], retired = [] }: OtherKeys = {}) {
  const current = deriveKeys(masterKey, generation);
  const other = others.map((key) => deriveKeys(key, generation)).filter(({ id }) => id !== current.id);
  const all = [current, ...other];
  const retiredKeys = retired.map(({ macs, ...newest }) => ({ ...newest, macKeys: importKeys(macs) }));
  const macBy = (key: KeyObject, message: Buffer) => createHmac('sha256', key).update(message).digest();
  /**
   * Under every key that counts, the current one first.
   * @param of an event of the audit log: a retired key counts for those up to its last one.
   */
  const macs = (purpose: MacPurpose, message: Buffer, of: AuditPlace = { seq: 0 }): Buffer[] => {
    const kept = retiredKeys.flatMap((key) => (of.seq <= newestOf(key, of) ? (key.macKeys[purpose] ?? []) : []));
    return [...all.map(({ macKeys }) => macKeys[purpose]), ...kept].map((key) => macBy(key, message));
  };
  return {
    /** Names the current master key and says nothing of it. */
    id: current.id,
    ...sealer(
      0,
      all.map(
        ({ seal }) =>
          () =>
            seal,
      ),
    ),
    /** For state in the browser: cookies and hidden fields. Each message has a key of its own. */
    browser: manyMessages(all.map(({ browser }) => browser)),
    /** For queued mail. Each message has a key of its own. */
    mail: manyMessages(all.map(({ mail }) => mail)),
    /** HMAC-SHA-256 (RFC 2104) under a key of its own: 32 bytes. No number of messages weakens the key. */
    mac: (purpose: MacPurpose, message: Buffer): Buffer => macBy(current.macKeys[purpose], message),
    macs,
    /** Under any key that counts; in constant time. */
    isMac: (purpose: MacPurpose, message: Buffer, mac: Buffer): boolean =>
      macs(purpose, message).some((one) => timingSafeEqual(one, mac)),
    /** Under which MACs of this purpose count, in base64: who has one can make such MACs. */
    macKeys: (purpose: ExportedMac): string[] => [
      ...all.map(({ macs }) => macs[purpose].toString('base64')),
      ...retired.flatMap(({ macs }) => macs[purpose] ?? []),
    ],
    /** What is to be kept of the other keys, by their ids. @param isStolen an attacker may have them. */
    retire: (newest: NewestSealed, isStolen: boolean): Map<string, RetiredKey> =>
      new Map(other.map((keys) => [keys.id, { ...newest, macs: lastingOf(keys, isStolen) }])),
  };
}

const newestOf = ({ auditSeq, auditSeqs }: NewestSealed, { schema }: AuditPlace): number =>
  schema === undefined ? auditSeq : (auditSeqs?.[schema] ?? 0);

function lastingOf({ macs }: Keys, isStolen: boolean): RetiredKey['macs'] {
  const kept = lastingMacs.filter((purpose) => !isStolen || !credentialMacs.includes(purpose));
  return Object.fromEntries(kept.map((purpose) => [purpose, macs[purpose].toString('base64')]));
}

const importKeys = (macs: RetiredKey['macs']): Partial<Record<MacPurpose, KeyObject>> =>
  Object.fromEntries(
    Object.entries(macs).map(([purpose, key]) => [purpose, createSecretKey(Buffer.from(key, 'base64'))]),
  );

/** The key of a message is an HMAC over its random salt, so that two practically never share key and nonce. */
const manyMessages = (keys: readonly Buffer[]) =>
  sealer(
    16,
    keys.map((key) => (salt) => createHmac('sha256', key).update(salt).digest()),
  );

/** Under a key that is not ours. Each message has a key of its own. @param secret 32 bytes. */
export const sealUnder = (secret: Buffer) => manyMessages([secret]);

const nonceLength = 12;

/**
 * Authenticated encryption, AES-256-GCM (NIST SP 800-38D). The sealed form is salt, nonce, ciphertext and tag.
 * @param keys the first one seals; each of them opens.
 */
function sealer(saltLength: number, keys: readonly ((salt: Buffer) => Buffer)[]) {
  /** @param purpose bound as associated data: a text sealed for one purpose cannot be opened for another. */
  function seal(purpose: string, plaintext: string): string {
    const salt = randomBytes(saltLength);
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv('aes-256-gcm', keys[0]!(salt), nonce, { authTagLength: 16 });
    cipher.setAAD(Buffer.from(purpose));
    const parts = [salt, nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64url');
  }

  function openWith(keyFor: (salt: Buffer) => Buffer, purpose: string, bytes: Buffer): string {
    const nonce = bytes.subarray(saltLength, saltLength + nonceLength);
    const key = keyFor(bytes.subarray(0, saltLength));
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(-16));
    return decipher.update(bytes.subarray(saltLength + nonceLength, -16), undefined, 'utf8') + decipher.final('utf8');
  }

  function find(purpose: string, sealed: string): { place: number; plaintext: string } {
    const bytes = Buffer.from(sealed, 'base64url');
    let failure: unknown;
    for (const [place, keyFor] of keys.entries()) {
      try {
        return { place, plaintext: openWith(keyFor, purpose, bytes) };
      } catch (error) {
        failure = error;
      }
    }
    const message = `The value sealed for ${purpose} cannot be decrypted with this master key.`;
    throw new WrongMasterKey(message, { cause: failure });
  }

  return {
    seal,
    /** @throws {WrongMasterKey} if it was sealed under another key or for another purpose, or has been altered. */
    open: (purpose: string, sealed: string): string => find(purpose, sealed).plaintext,
    /** @returns the same under the current key; undefined if it is so already. @throws {WrongMasterKey} */
    reseal(purpose: string, sealed: string): string | undefined {
      const { place, plaintext } = find(purpose, sealed);
      return place === 0 ? undefined : seal(purpose, plaintext);
    },
  };
}

/** As {@link openVaultFor}; at the very first start it seals the known word, too. */
export async function prepareVaultFor(db: Db, masterKey: Buffer, others: readonly Buffer[] = []): Promise<Vault> {
  if ((await findMasterKeyCheck(db)) === '') {
    await keepMasterKeyCheck(db, openVault(masterKey).seal(checkPurpose, 'signet'));
  }
  return openVaultFor(db, masterKey, others);
}

const checkPurpose = 'master-key-check';
const retiredPurpose = tables.retired_master_keys.sealed.sealed;

/**
 * Opens the vault and proves that it is the one this store was sealed with: the first start seals a known word, every
 * later start opens it.
 * @throws {ConfigError} when the key does not open what is stored: going on would make new keys beside unreadable ones.
 */
export async function openVaultFor(db: Db, masterKey: Buffer, others: readonly Buffer[] = []): Promise<Vault> {
  const generation = await findGeneration(db);
  const vault = openVault(masterKey, generation, { others });
  const check = await findMasterKeyCheck(db);
  const kept = await listUsableRetiredKeys(db, vault); // after the check: a key that is retired between the two is seen
  if (check === '') {
    throw new ConfigError(
      'The database has not been set up yet. Start the server (signet serve), or run: signet migrate. Nothing was changed.',
    );
  }
  try {
    vault.open(checkPurpose, check);
  } catch {
    throw new ConfigError(
      'The master key does not match this database. Start with the key that the database was first used with (SIGNET_MASTER_KEY, SIGNET_MASTER_KEY_FILE, or master.key in the data folder), or name that one in SIGNET_OTHER_MASTER_KEY_FILE and then run: signet rekey. Nothing was changed.',
    );
  }
  const retired = kept.map(
    ({ key_id, sealed }) => JSON.parse(vault.open(retiredPurpose(key_id), sealed)) as RetiredKey,
  );
  return retired.length === 0 ? vault : openVault(masterKey, generation, { others, retired });
}

/** @throws {ConfigError} when the vault's own key has been retired: `signet rekey` waits for no server that is starting. */
export async function refuseRetiredKey({ db, vault }: { db: Db; vault: Vault }): Promise<void> {
  await listUsableRetiredKeys(db, vault);
}

async function listUsableRetiredKeys(db: Db, { id }: Vault) {
  const kept = await listRetiredKeys(db);
  if (kept.some(({ key_id }) => key_id === id)) {
    throw new ConfigError(
      'The master key of the settings has been replaced: what it seals could soon be opened by nothing. Start with the new one as SIGNET_MASTER_KEY_FILE. Nothing was changed.',
    );
  }
  return kept;
}

/**
 * What is stored under a key of another store counts here, too, once servers have started anew. It is sealed, and none of ours
 * has its name. @param key in base64.
 */
export function keepMacKey(vault: Pick<Vault, 'seal'>, purpose: ExportedMac, key: string): Sql {
  const id = `${purpose}:${digest(key)}`;
  const kept: RetiredKey = { macs: { [purpose]: key }, auditSeq: 0 };
  return keepRetiredKey(id, vault.seal(retiredPurpose(id), JSON.stringify(kept)));
}

/**
 * The other master keys are no longer needed: all that was sealed under them has been sealed anew. What verifies is kept.
 * @param newest sealed events of the audit log.
 * @returns undefined if the store is under the current key already. Each statement has to change something, or another call has
 * been faster.
 */
export async function retireOtherKeys(
  { db, vault }: { db: Db; vault: Vault },
  newest: NewestSealed,
  isStolen: boolean,
): Promise<Sql[] | undefined> {
  const from = await findMasterKeyCheck(db);
  const to = vault.reseal(checkPurpose, from);
  if (to === undefined) return undefined;
  const kept = [...vault.retire(newest, isStolen)].map(([id, key]) =>
    keepRetiredKey(id, vault.seal(retiredPurpose(id), JSON.stringify(key))),
  );
  return [...kept, replaceMasterKeyCheck(from, to)];
}

/**
 * Of keys that were retired before a theft. An attacker with the key after them and a copy of the database has these, too.
 * Each statement has to change something, or another call has been faster.
 */
export async function dropCredentialMacs({ db, vault }: { db: Db; vault: Vault }): Promise<Sql[]> {
  return (await listRetiredKeys(db)).map(({ key_id, sealed }) => {
    const { macs, ...newest }: RetiredKey = JSON.parse(vault.open(retiredPurpose(key_id), sealed));
    const kept = Object.entries(macs).filter(([purpose]) => !credentialMacs.includes(purpose as MacPurpose));
    const key: RetiredKey = { ...newest, macs: Object.fromEntries(kept) };
    return replaceRetiredKey(key_id, sealed, vault.seal(retiredPurpose(key_id), JSON.stringify(key)));
  });
}
