import type { Client } from '../../clients/client.ts';
import { now } from '../../platform/clock.ts';
import { invalidClient, RequestError } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { endGrant } from '../grants/end-grant.ts';
import { findGrant } from '../grants/store.ts';
import { type AccessTokenClaims, grantIdOfAccessToken } from '../token/access-token.ts';
import { readRefreshToken } from '../token/refresh-token.ts';
import { revokeAccessToken } from './store.ts';

type Revoker = {
  /** Whoever authenticated, if anybody did. */
  client: Client | undefined;
  /** Whoever it says it is. */
  client_id: string | undefined;
  address: string;
};

/**
 * Ends a refresh token's whole grant, or one access token. `token_type_hint` is not needed: the two look different.
 * Unknown tokens and another client's change nothing and are no error (RFC 7009 §2.2); possession of a public client's
 * token is enough.
 * @throws {RequestError} `invalid_client` for a confidential client's token that came without its credentials.
 */
export async function revokeToken(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys' | 'clients' | 'mail'>,
  token: string,
  revoker: Revoker,
): Promise<void> {
  const refreshToken = readRefreshToken(deps.vault, token);
  const claims = refreshToken ? undefined : await ownAccessToken(deps, token);
  const grant_id = refreshToken?.grant_id ?? (claims && grantIdOfAccessToken(claims.jti));
  const grant = grant_id === undefined ? undefined : await findGrant(deps.db, grant_id);
  if (!grant) return;

  if (revoker.client_id !== undefined && revoker.client_id !== grant.client_id) return;
  const owner = await deps.clients.find(grant.client_id);
  if (!revoker.client && owner?.client_type !== 'public') throw invalidClient('confidential token without credentials');

  if (claims) await revokeAccessToken(deps.db, claims.jti, claims.exp);
  else
    await endGrant(deps, {
      grant,
      reason: 'client',
      actor: `client:${grant.client_id}`,
      address: revoker.address,
    });
}

async function ownAccessToken(
  deps: Pick<Deps, 'clock' | 'keys'>,
  token: string,
): Promise<AccessTokenClaims | undefined> {
  try {
    const claims = (await deps.keys.verify('at+jwt', token)) as AccessTokenClaims;
    return claims.exp > now(deps) ? claims : undefined;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'invalid_token') return undefined;
    throw error;
  }
}
