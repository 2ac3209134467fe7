import { timingSafeEqual } from 'node:crypto';
import { digest } from './ids.ts';

/** What the store keeps of a secret that was shown once. `expires_at` is Unix seconds; null while it has no end. */
export type StoredSecret = { readonly secret_hash: string; readonly expires_at: number | null };

/** @param at Unix seconds. */
export const isActiveSecret = ({ expires_at }: Pick<StoredSecret, 'expires_at'>, at: number): boolean =>
  expires_at === null || expires_at > at;

/**
 * Whether `secret` is one of the active ones. Every digest is compared, in constant time, so that the time does not
 * tell which one was close.
 * @param at Unix seconds.
 */
export function matchesActiveSecret(secrets: readonly StoredSecret[], secret: string, at: number): boolean {
  const sent = Buffer.from(digest(secret));
  const equal = secrets.filter(({ secret_hash }) => timingSafeEqual(sent, Buffer.from(secret_hash)));
  return equal.some((one) => isActiveSecret(one, at));
}
