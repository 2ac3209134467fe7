import type { Vault } from '../../platform/vault.ts';

// Nonces of ours (RFC 9449 §8), without a row: a MAC of the time in which they are valid. They serve clients whose clock is wrong.

/** Seconds. A nonce is valid in its own step and in the next one, and in the one before, where a clock is behind. */
const nonceStep = 300;

const macLength = 18;

function nonceOf(vault: Vault, step: number): string {
  const message = Buffer.alloc(8);
  message.writeBigInt64BE(BigInt(step));
  return vault.mac('dpop-nonce', message).subarray(0, macLength).toString('base64url');
}

/** @param at Unix seconds. */
export const newNonce = (vault: Vault, at: number): string => nonceOf(vault, Math.floor(at / nonceStep));

/**
 * When a nonce that any node has made recently ends on every node; nothing that is secret depends on it.
 * @param at Unix seconds. @returns undefined for any other.
 */
export function endOfNonce(vault: Vault, nonce: string, at: number): number | undefined {
  const current = Math.floor(at / nonceStep);
  const step = [current, current - 1, current + 1].find((one) => nonceOf(vault, one) === nonce);
  return step === undefined ? undefined : (step + 2) * nonceStep;
}
