import { timingSafeEqual } from 'node:crypto';
import { digest, newSecret } from '../lib/ids.ts';
import type { Client } from './client.ts';

/** `cs_` and 256 random bits, so that a leaked one is found by its looks. Shown once; the store has its digest. */
export const newClientSecret = (): string => newSecret('cs_');

/**
 * Whether `secret` is one of the client's, of which there are two while one replaces another.
 * Digests are compared in constant time, and every one of them, so that the time tells nothing about which was close.
 *
 * @param now Unix seconds.
 * @returns false for a public client whatever it sends.
 */
export function verifyClientSecret(client: Pick<Client, 'secrets'>, secret: string, now: number): boolean {
  const sent = Buffer.from(digest(secret));
  let verified = false;
  for (const { secret_hash, expires_at } of client.secrets) {
    const isEqual = timingSafeEqual(sent, Buffer.from(secret_hash));
    const isAlive = expires_at === null || expires_at > now;
    if (isEqual && isAlive) verified = true;
  }
  return verified;
}
