import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

/** Authenticated encryption: AES-256-GCM (NIST SP 800-38D). */
export type Sealer = {
  /**
   * @param purpose bound as associated data: a text sealed for one purpose cannot be opened for another.
   * @returns base64url.
   */
  seal(purpose: string, plaintext: string): string;
  /** @throws {WrongMasterKey} if it was sealed under another key or for another purpose, or has been altered. */
  open(purpose: string, sealed: string): string;
};

/**
 * Holds the master key, which is not in the database: private signing keys, TOTP secrets and upstream secrets are sealed,
 * refresh tokens are authenticated.
 *
 * A key with random 96-bit nonces must not seal more than 2^32 messages (SP 800-38D §8.3). So stored secrets have a
 * key that only signed-in users and operators cause to be used; messages that anyone can cause, any number of times, have
 * others.
 */
export type Vault = Sealer & {
  /** For state in the browser: cookies and hidden fields. Each message has a key of its own. */
  readonly browser: Sealer;
  /** For mail that waits. Each message has a key of its own. */
  readonly mail: Sealer;
  /** HMAC-SHA-256 (RFC 2104) under a key of its own: 32 bytes. No number of messages weakens the key. */
  mac(purpose: MacPurpose, message: Buffer): Buffer;
};

type MacPurpose = 'refresh-token' | 'passkey-challenge' | 'audit-log';

export class WrongMasterKey extends Error {
  override name = 'WrongMasterKey';
}

/** @param masterKey 32 random bytes. Each use gets a key of its own by HKDF (RFC 5869). */
export function openVault(masterKey: Buffer): Vault {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', masterKey, 'signet/1', use, 32));
  const sealingKey = derive('seal');
  const macKey = (purpose: MacPurpose) => createSecretKey(derive(purpose)); // imported once, not at every MAC
  const macKeys = {
    'refresh-token': macKey('refresh-token'),
    'passkey-challenge': macKey('passkey-challenge'),
    'audit-log': macKey('audit-log'),
  };
  return {
    ...sealer(0, () => sealingKey),
    browser: manyMessages(derive('browser')),
    mail: manyMessages(derive('mail')),
    mac: (purpose, message) => createHmac('sha256', macKeys[purpose]).update(message).digest(),
  };
}

const saltLength = 16;

/** The key of a message is an HMAC over its random salt: two share key and nonce as good as never, however many there are. */
const manyMessages = (key: Buffer): Sealer =>
  sealer(saltLength, (salt) => createHmac('sha256', key).update(salt).digest());

const nonceLength = 12;

/** The sealed form is salt, nonce, ciphertext and tag. */
function sealer(salted: number, keyFor: (salt: Buffer) => Buffer): Sealer {
  return {
    seal(purpose, plaintext) {
      const salt = randomBytes(salted);
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: 16 });
      cipher.setAAD(Buffer.from(purpose));
      const parts = [salt, nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(parts).toString('base64url');
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      const nonce = bytes.subarray(salted, salted + nonceLength);
      try {
        const key = keyFor(bytes.subarray(0, salted));
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
        decipher.setAAD(Buffer.from(purpose));
        decipher.setAuthTag(bytes.subarray(-16));
        return decipher.update(bytes.subarray(salted + nonceLength, -16), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new WrongMasterKey(`The value sealed for ${purpose} cannot be decrypted with this master key.`, {
          cause,
        });
      }
    },
  };
}
