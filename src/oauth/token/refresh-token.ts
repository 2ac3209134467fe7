import type { Client } from '../../clients/client.ts';
import type { Vault } from '../../platform/vault.ts';
import type { Grant } from '../grants/grant.store.ts';

/**
 * A refresh token that is not used for so long expires (decisions §3). One that a page in a browser keeps is easier to
 * steal, so it lasts a day.
 */
export const refreshIdleSeconds = ({ application_type }: Pick<Client, 'application_type'>): number =>
  application_type === 'spa' ? 86_400 : 30 * 86_400;

/**
 * A refresh token is `rt_` and base64url of grant id (16 bytes) ‖ sequence number (4) ‖ HMAC-SHA-256 (32) under a key
 * derived from the master key. The MAC proves that we issued it, so an older genuine token is recognised as a replay
 * without a history of tokens, a forged one changes nothing, and the database holds no usable token.
 */
export type RefreshToken = Pick<Grant, 'grant_id' | 'refresh_seq'>;

const refreshTokenPrefix = 'rt_';
const grantIdPrefix = 'gr_';
const idLength = 16;
const bodyLength = idLength + 4;
const tokenLength = bodyLength + 32;

export function issueRefreshToken(vault: Vault, { grant_id, refresh_seq }: RefreshToken): string {
  const body = Buffer.alloc(bodyLength);
  body.write(grant_id.slice(grantIdPrefix.length), 'base64url');
  body.writeUInt32BE(refresh_seq, idLength);
  return refreshTokenPrefix + Buffer.concat([body, vault.mac('refresh-token', body)]).toString('base64url');
}

export const looksLikeRefreshToken = (text: string): boolean => text.startsWith(refreshTokenPrefix);

/** @returns undefined for anything that this deployment has not issued, character for character. */
export function readRefreshToken(vault: Vault, text: string): RefreshToken | undefined {
  if (!looksLikeRefreshToken(text) || text.length > 100) return undefined;
  const encoded = text.slice(refreshTokenPrefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Several strings decode to the same bytes; only the one that we issued is accepted.
  if (bytes.length !== tokenLength || bytes.toString('base64url') !== encoded) return undefined;
  const body = bytes.subarray(0, bodyLength);
  if (!vault.isMac('refresh-token', body, bytes.subarray(bodyLength))) return undefined;
  return {
    grant_id: grantIdPrefix + body.subarray(0, idLength).toString('base64url'),
    refresh_seq: body.readUInt32BE(idLength),
  };
}

/** A client that cannot authenticate proves by its key that a refresh token is its own (RFC 9449 §5). */
export const bindsRefreshTokens = ({ client_type }: Pick<Client, 'client_type'>): boolean => client_type === 'public';

/** Whether the key that was proven is the one that the grant needs, if it needs one. */
export const hasKeyOf = ({ dpop_jkt }: Pick<Grant, 'dpop_jkt'>, jkt: string | null | undefined): boolean =>
  dpop_jkt === null || dpop_jkt === jkt;
