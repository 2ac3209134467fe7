import { timingSafeEqual } from 'node:crypto';
import { digest, newId, newSecret } from '../platform/ids.ts';
import type { Client, ClientSecret } from './client.ts';

/** `cs_` and 256 random bits, so that a leaked one is found by its looks. Shown once; the store has its digest. */
export const newClientSecret = (): string => newSecret('cs_');

/** What the store keeps of it. @param at Unix seconds. */
export const newSecretRow = (secret: string, at: number): ClientSecret => ({
  secret_id: newId('sec'),
  secret_hash: digest(secret),
  created_at: at,
  expires_at: null,
});

/** @param at Unix seconds. */
export const isActiveSecret = ({ expires_at }: Pick<ClientSecret, 'expires_at'>, at: number): boolean =>
  expires_at === null || expires_at > at;

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
  for (const known of client.secrets) {
    const isEqual = timingSafeEqual(sent, Buffer.from(known.secret_hash));
    if (isEqual && isActiveSecret(known, now)) verified = true;
  }
  return verified;
}
