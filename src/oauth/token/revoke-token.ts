import type { Client } from '../../clients/client.ts';
import { now } from '../../platform/clock.ts';
import { invalidClient } from '../../platform/errors.ts';
import type { ClientId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant } from '../grants/grant.store.ts';
import { revokeGrant } from '../grants/grants.ts';
import { revokeAccessToken } from '../grants/revoked-access-tokens.store.ts';
import { grantIdOfAccessToken, readAccessToken } from './access-token.ts';
import { readRefreshToken } from './refresh-token.ts';

type Requester = {
  /** The authenticated client, if it sent credentials. */
  client: Client | undefined;
  /** The client that the requester claims to be. */
  client_id: ClientId | undefined;
  address: string;
};

/**
 * Revokes a refresh token's whole grant, or one access token. `token_type_hint` is not needed: the two look different.
 * Unknown tokens and other clients' tokens change nothing and are no error (RFC 7009 §2.2); possession of a public
 * client's token is enough.
 * @throws {RequestError} `invalid_client` for a confidential client's token that came without its credentials;
 * `temporarily_unavailable` if the store does not have its grant yet.
 */
export async function revokeToken(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys' | 'clients' | 'mail' | 'statusLists'>,
  token: string,
  requester: Requester,
): Promise<void> {
  const refreshToken = readRefreshToken(deps.vault, token);
  const claims = refreshToken ? undefined : await readAccessToken(deps, token);
  const grant_id = refreshToken?.grant_id ?? (claims && grantIdOfAccessToken(claims.jti));
  const grant = grant_id === undefined ? undefined : await findGrant(deps.db, grant_id);
  if (!grant) {
    if (grant_id !== undefined) await refuseIfBehind(deps, { grant_id, refresh_seq: 1 }, grant);
    return;
  }

  const { client_id } = grant;
  if (requester.client_id !== undefined && requester.client_id !== client_id) return;
  const owner = await deps.clients.find(client_id);
  if (!requester.client && owner?.client_type !== 'public')
    throw invalidClient('confidential token without credentials');

  if (claims)
    await revokeAccessToken(
      deps.db,
      {
        jti: claims.jti,
        expires_at: claims.exp,
        status_ref: (claims.status && deps.statusLists.refOf(claims.status)) ?? null,
      },
      now(deps),
    );
  else await revokeGrant(deps, { grant, reason: 'client', actor: `client:${client_id}`, address: requester.address });
}
