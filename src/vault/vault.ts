import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Holds the master key. What the database must not be able to give away goes through here: private signing keys,
 * TOTP secrets and upstream secrets are sealed, refresh tokens are authenticated.
 */
export type Vault = {
  /**
   * AES-256-GCM (NIST SP 800-38D), a fresh 96-bit nonce each time.
   * @param purpose bound as associated data: what was sealed for one place cannot be opened in another.
   * @returns base64url of nonce, ciphertext and tag.
   */
  seal(purpose: string, plaintext: string): string;
  /** @throws {WrongMasterKey} if it was sealed under another key or for another purpose, or has been altered. */
  open(purpose: string, sealed: string): string;
  /** HMAC-SHA-256 (RFC 2104) under a key of its own: 32 bytes. No number of them wears the key out. */
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
    seal(purpose, plaintext) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength: 16 });
      cipher.setAAD(Buffer.from(purpose));
      const parts = [nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(parts).toString('base64url');
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', sealingKey, bytes.subarray(0, 12), { authTagLength: 16 });
        decipher.setAAD(Buffer.from(purpose));
        decipher.setAuthTag(bytes.subarray(-16));
        return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new WrongMasterKey(`What was sealed for ${purpose} does not open with this master key.`, { cause });
      }
    },
    mac: (purpose, message) => createHmac('sha256', macKeys[purpose]).update(message).digest(),
  };
}
