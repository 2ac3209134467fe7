import { hash } from 'node:crypto';
import type { Client } from '../../clients/client.ts';
import { hasScope, withinAllowed } from '../../clients/scopes.ts';
import type { Algorithm } from '../../clients/signing-algorithm.ts';
import { now } from '../../platform/clock.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { Deps } from '../deps.ts';
import type { Grant } from '../grants/store.ts';
import { newAccessTokenId } from './access-token.ts';
import { issueRefreshToken } from './refresh-token.ts';

/** Spec 2.3. */
export const accessTokenSeconds = 3600;

/** The body of a token response (spec 2.3, RFC 6749 §5.1, OIDC Core §3.1.3.3). */
export type TokenResponse = {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
  refresh_token?: string;
  id_token?: string;
};

/** A token request whose client has authenticated. `address` is where it came from. */
export type TokenRequest = { client: Client; form: Parameters; address: string };

/**
 * Signs what a grant that has just been redeemed or rotated is worth.
 * @param asked what this access token shall be able to do: the grant's scope or less. What the client has lost since
 * the grant was made is left out; the caller has made sure that something remains.
 * @param nonce only at redemption; a refreshed id token has none (OIDC Core §12.2).
 */
export async function issueTokens(
  deps: Pick<Deps, 'clock' | 'config' | 'vault' | 'keys'>,
  client: Client,
  grant: Grant,
  { asked, nonce }: { asked: string; nonce?: string | null },
): Promise<TokenResponse> {
  const scope = withinAllowed(asked, client.allowed_scopes);
  const algorithm = client.id_token_signed_response_alg;
  const iat = now(deps);
  const shared = {
    iss: deps.config.baseUrl,
    sub: grant.user_id,
    aud: grant.client_id,
    iat,
    exp: iat + accessTokenSeconds,
    auth_time: grant.auth_time,
    sid: grant.session_id,
    acr: grant.acr,
    amr: grant.amr.split(' '),
  };
  const access_token = await deps.keys.sign(algorithm, 'at+jwt', {
    ...shared,
    client_id: grant.client_id,
    scope,
    jti: newAccessTokenId(grant.grant_id),
  });
  const response: TokenResponse = { access_token, token_type: 'Bearer', expires_in: accessTokenSeconds, scope };
  if (hasScope(withinAllowed(grant.scope, client.allowed_scopes), 'offline_access')) {
    response.refresh_token = issueRefreshToken(deps.vault, grant);
  }
  if (hasScope(scope, 'openid')) {
    response.id_token = await deps.keys.sign(algorithm, 'JWT', {
      ...shared,
      azp: grant.client_id,
      at_hash: accessTokenHash(algorithm, access_token),
      ...(nonce ? { nonce } : {}),
    });
  }
  return response;
}

/** Left half of the hash that the signature algorithm uses; for Ed25519 that is SHA-512 (OIDC Core §3.1.3.6). */
function accessTokenHash(algorithm: Algorithm, access_token: string): string {
  const digest = hash(algorithm === 'EdDSA' ? 'sha512' : 'sha256', access_token, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url');
}
