import { digest, newId, newSecret } from '../platform/ids.ts';
import type { ClientSecret } from './client.ts';

/** `cs_` and 256 random bits, so that a leaked one is found by its looks. Shown once; the store has its digest. */
export const newClientSecret = (): string => newSecret('cs_');

/** What the store keeps of it. @param at Unix seconds. */
export const newSecretRow = (secret: string, at: number): ClientSecret => ({
  secret_id: newId('sec'),
  secret_hash: digest(secret),
  created_at: at,
  expires_at: null,
});
