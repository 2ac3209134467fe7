import type { Vault } from '../../platform/vault.ts';

// Nonces of ours (RFC 9449 §8), without a row: a MAC of the time in which they are valid. They serve clients whose clock is wrong.

/** Seconds. A nonce is valid in its own step and in the next one. */
const nonceStep = 300;
/** For how long after it was made one is valid at most. */
export const nonceSeconds = 2 * nonceStep;

const macLength = 18;

function nonceOf(vault: Vault, step: number): string {
  const message = Buffer.alloc(8);
  message.writeBigInt64BE(BigInt(step));
  return vault.mac('dpop-nonce', message).subarray(0, macLength).toString('base64url');
}

/** @param at Unix seconds. */
export const newNonce = (vault: Vault, at: number): string => nonceOf(vault, Math.floor(at / nonceStep));

/** Whether any node has made it so recently; nothing that is secret depends on it. @param at Unix seconds. */
export function isValidNonce(vault: Vault, nonce: string, at: number): boolean {
  const step = Math.floor(at / nonceStep);
  return [step, step - 1, step + 1].some((one) => nonceOf(vault, one) === nonce);
}
