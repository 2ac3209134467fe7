import { findUser } from '../../accounts/statements.ts';
import type { Client } from '../../clients/client.ts';
import { isFapi } from '../../clients/profile.ts';
import { hasScope } from '../../clients/scopes.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import { claimLists } from '../claims/claim-lists.ts';
import { claimsWithin, scopeOfClaim, type UserClaims, userClaims } from '../claims/claims.ts';
import type { Deps } from '../deps.ts';
import type { IssuableGrant } from '../grants/grant.store.ts';
import { accessTokenClaims, claimsOfGrant, tokenTypeOf } from './access-token.ts';
import { issueRefreshToken } from './refresh-token.ts';
import { type Resources, targetOf } from './resources.ts';
import { nothingAllowed } from './token-refusal.ts';
import type { TokenResponse } from './token-request.ts';
import { statusOf } from './token-status.ts';

/**
 * Signs the tokens of a grant that has just been redeemed or rotated.
 * @param asked the scope of this access token: the grant's or less. What the client has lost since the grant was made is
 * left out; the caller has made sure that something remains, unless an API is retired at this moment.
 * @param resources the APIs that this access token is for; left out: see {@link targetOf}.
 * @param nonce only at redemption; a refreshed id token has none (OIDC Core §12.2).
 */
type Asked = {
  asked: string;
  resources?: Resources | undefined;
  nonce?: string | null;
  /** The key that the access token is bound to. */
  jkt: string | undefined;
};

export async function issueTokens(
  deps: Pick<Deps, 'db' | 'apis' | 'attributes' | 'clock' | 'config' | 'vault' | 'keys' | 'statusLists'>,
  client: Client,
  grant: IssuableGrant,
  { asked, resources, nonce, jkt }: Asked,
): Promise<TokenResponse> {
  const target = await targetOf(deps, client, grant, { asked, resources });
  const { scope } = target;
  if (scope === '') throw nothingAllowed(asked);
  const claims = accessTokenClaims(deps, grant, target, { jkt, status: await statusOf(deps, client, grant, target) });
  const idClaims = hasScope(scope, 'openid')
    ? {
        ...(await claimsInIdToken(deps, client, grant, scope)),
        ...claimsOfGrant(deps.config.baseUrl, grant),
        ...(leavesOutSession(client) && { sid: undefined }),
        iat: claims.iat,
        exp: claims.exp,
        azp: grant.client_id,
        ...(nonce ? { nonce } : {}),
      }
    : undefined;
  const tokens = await deps.keys.signTokens(client.id_token_signed_response_alg, claims, idClaims);
  const { access_token, id_token } = tokens;
  const response: TokenResponse = {
    access_token,
    token_type: tokenTypeOf(claims),
    expires_in: accessTokenSeconds,
    scope,
  };
  if (hasScope(grant.scope, 'offline_access') && client.allowed_scopes.includes('offline_access')) {
    response.refresh_token = issueRefreshToken(deps.vault, grant);
  }
  if (id_token !== undefined) response.id_token = id_token;
  return response;
}

/** FAPI 2.0 wants nothing in an id token that was not asked for; `sid` is of use for signing out alone. */
const leavesOutSession = (client: Client): boolean =>
  isFapi(client) && client.backchannel_logout_uri === null && client.post_logout_redirect_uris.length === 0;

/**
 * Claims about the user are userinfo's (decisions §5), unless the client has them in id tokens, or its request asked for
 * some of them there.
 * @param scope of the access token beside it.
 */
async function claimsInIdToken(
  { db, attributes: known }: Pick<Deps, 'db' | 'attributes'>,
  client: Client,
  { user_id, claims }: IssuableGrant,
  scope: string,
): Promise<UserClaims> {
  const { claims_in_id_token, allowed_scopes } = client;
  if (!claims_in_id_token && (claims?.id_token ?? []).length === 0) return {};
  const attributes = await known.read();
  const requested = (claims?.id_token ?? []).filter((claim) =>
    allowed_scopes.includes(scopeOfClaim(attributes, claim) ?? ''),
  );
  const wanted = [...(claims_in_id_token ? claimsWithin(attributes, scope) : []), ...requested];
  const user = wanted.length > 0 ? await findUser(db, user_id) : undefined;
  return user ? userClaims(user, wanted, { lists: claimLists(db, user_id, client), attributes }) : {};
}
