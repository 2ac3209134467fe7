import { hash } from 'node:crypto';
import type { IDToken } from 'openid-client';
import { UpstreamFailure } from './upstream.ts';

/** How far an upstream's clock may be ahead of ours, in seconds. For the other direction a token lives long enough. */
const leewaySeconds = 60;

/** Asymmetric signatures alone: whoever knows the client secret, or nobody at all, could have made any other. */
const hashOf: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  PS256: 'sha256',
  ES256: 'sha256',
  RS384: 'sha384',
  PS384: 'sha384',
  ES384: 'sha384',
  RS512: 'sha512',
  PS512: 'sha512',
  ES512: 'sha512',
  EdDSA: 'sha512',
  Ed25519: 'sha512',
};

type ReceivedTokens = { id_token: string; claims: IDToken; access_token: string };

/**
 * What the library leaves to us of OIDC Core §3.1.3.7, after it has checked signature, `iss`, `aud` and `nonce`: the
 * algorithm, the times by our own clock, `azp`, and `at_hash` where it is sent.
 * @throws {UpstreamFailure}
 */
export function checkIdToken({ id_token, claims, access_token }: ReceivedTokens, client_id: string, now: number): void {
  const algorithm = hashOf[algorithmOf(id_token)];
  if (algorithm === undefined) throw new UpstreamFailure('id_token_alg');
  if (!isSeconds(claims.exp) || claims.exp <= now) throw new UpstreamFailure('id_token_exp');
  if (!isSeconds(claims.iat) || claims.iat > now + leewaySeconds) throw new UpstreamFailure('id_token_iat');
  if (claims.nbf !== undefined && (!isSeconds(claims.nbf) || claims.nbf > now + leewaySeconds)) {
    throw new UpstreamFailure('id_token_nbf');
  }
  if (claims.azp !== undefined && claims.azp !== client_id) throw new UpstreamFailure('id_token_azp');
  // OIDC Core §2: at most 255 ASCII characters. It becomes half of a key.
  if (!/^[\x20-\x7e]{1,255}$/.test(claims.sub)) throw new UpstreamFailure('id_token_sub');
  if (claims.at_hash !== undefined) {
    const digest = hash(algorithm, access_token, 'buffer');
    const expected = digest.subarray(0, digest.length / 2).toString('base64url');
    if (claims.at_hash !== expected) throw new UpstreamFailure('id_token_at_hash');
  }
}

const isSeconds = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function algorithmOf(id_token: string): string {
  const header: unknown = JSON.parse(Buffer.from(id_token.split('.', 1)[0] ?? '', 'base64url').toString());
  return typeof header === 'object' && header !== null && 'alg' in header ? String(header.alg) : '';
}
