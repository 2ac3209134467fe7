import { hash, randomBytes } from 'node:crypto';

/** An id that names something but opens nothing: 128 random bits behind a prefix that says what it names. */
export const newId = (prefix: string): string => `${prefix}_${randomBytes(16).toString('base64url')}`;

/** A bearer secret: 256 random bits (RFC 6749 §10.10 asks for 128, and would like 160). */
export const newSecret = (prefix = ''): string => prefix + randomBytes(32).toString('base64url');

/**
 * What is stored of a bearer secret. A plain SHA-256 is enough for 256 random bits: there is nothing to guess.
 * The raw string is hashed, never its decoded bytes, since several strings decode to the same bytes.
 */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url');
