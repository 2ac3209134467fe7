import { timingSafeEqual } from 'node:crypto';
import type { Vault } from '../../platform/vault/vault.ts';

/**
 * A refresh token is `rt_` and base64url of grant id (16 bytes) ‖ sequence (4) ‖ HMAC-SHA-256 (32) under a key derived
 * from the master key. The MAC proves that we issued it, so an older genuine token is known as a replay without a
 * history of tokens, a forged one changes nothing, and what is stored opens nothing.
 */
export type RefreshToken = { grant_id: string; refresh_seq: number };

const prefix = 'rt_';
const idPrefix = 'gr_';
const idLength = 16;
const bodyLength = idLength + 4;
const tokenLength = bodyLength + 32;

export function issueRefreshToken(vault: Vault, token: RefreshToken): string {
  const body = encodeBody(token);
  return prefix + Buffer.concat([body, vault.mac('refresh-token', body)]).toString('base64url');
}

/** @returns undefined for anything that this deployment has not issued, character for character. */
export function readRefreshToken(vault: Vault, text: string): RefreshToken | undefined {
  if (!text.startsWith(prefix) || text.length > 100) return undefined;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Several strings decode to the same bytes; only the one that we sent counts.
  if (bytes.length !== tokenLength || bytes.toString('base64url') !== encoded) return undefined;
  const body = bytes.subarray(0, bodyLength);
  if (!timingSafeEqual(bytes.subarray(bodyLength), vault.mac('refresh-token', body))) return undefined;
  return {
    grant_id: idPrefix + body.subarray(0, idLength).toString('base64url'),
    refresh_seq: body.readUInt32BE(idLength),
  };
}

function encodeBody({ grant_id, refresh_seq }: RefreshToken): Buffer {
  const body = Buffer.alloc(bodyLength);
  body.write(grant_id.slice(idPrefix.length), 'base64url');
  body.writeUInt32BE(refresh_seq, idLength);
  return body;
}
