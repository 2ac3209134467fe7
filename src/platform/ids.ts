import { hash, randomFillSync } from 'node:crypto';

/** Random bytes are drawn from the operating system by the page: one call for 128 ids instead of one for each. */
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

/** @returns that many fresh bytes of the cryptographic generator, in base64url. They are wiped from the pool. */
function random(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const drawn = pool.subarray(used, used + bytes);
  used += bytes;
  const text = drawn.toString('base64url');
  drawn.fill(0);
  return text;
}

/** An id that names something but opens nothing: 128 random bits behind a prefix that says what it names. */
export const newId = (prefix: string): string => `${prefix}_${random(16)}`;

/** Tells apart what already bears a random id: 72 random bits. */
export const newSuffix = (): string => random(9);

/** A bearer secret: 256 random bits (RFC 6749 §10.10 asks for 128, and would like 160). */
export const newSecret = (prefix = ''): string => prefix + random(32);

/**
 * What is stored of a bearer secret. A plain SHA-256 is enough for 256 random bits: there is nothing to guess.
 * The raw string is hashed, never its decoded bytes, since several strings decode to the same bytes.
 */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url');
