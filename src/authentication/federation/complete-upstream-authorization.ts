import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';
import type { Provider } from '../credentials/providers.ts';
import { checkFailures, countFailure, type IdentityRefusal, refuseIdentity } from './refuse-identity.ts';
import { failureOf, suggestsStaleMetadata, UpstreamFailure, type Upstreams } from './upstream.ts';
import { accountOf, checkIdToken, claimsOf, type UpstreamAccount } from './upstream-account.ts';
import {
  callbackContext,
  callbackUrl,
  isStale,
  type UpstreamAuthorization,
  upstreamAuthorizationSeconds,
} from './upstream-authorization.ts';

type CallbackInput = {
  authorization: UpstreamAuthorization;
  /** The query of the callback as it came. */
  query: string;
  address: string;
};

/**
 * Redeems the code that the upstream sent back with the browser, once, for the user's account there.
 * @returns `cancelled` if the user refused there.
 * @throws {RequestError} `invalid_request` for a callback that was used already; `upstream_failed` for an answer that is
 * missing, late or not trustworthy; `access_denied` for an authentication that is too old.
 */
export async function completeUpstreamAuthorization(
  deps: LimitDeps,
  upstreams: Upstreams,
  provider: Provider,
  { authorization, query, address }: CallbackInput,
): Promise<UpstreamAccount | 'cancelled'> {
  const refuse = (identityRefusal: IdentityRefusal) =>
    refuseIdentity(deps, callbackContext(provider, address, authorization), identityRefusal);
  // First of all, so that of any number of callbacks with one state a single one is processed.
  if (!(await spendOnce(deps, `federation:${authorization.state}`, authorization))) {
    throw await refuse({ code: 'invalid_request', reason: 'state_used' });
  }
  const url = new URL(`${callbackUrl(deps, provider)}?${query}`);
  if (url.searchParams.get('error') === 'access_denied') return 'cancelled';
  await checkFailures(deps, address);
  try {
    const account = await exchangeCode(deps, upstreams, provider, { url, authorization });
    if (isStale(account, authorization, now(deps))) throw new UpstreamFailure('not_asked_again');
    return account;
  } catch (error) {
    const problem = failureOf(error).reason;
    if (problem === 'not_asked_again') {
      throw await refuse({ code: 'access_denied', reason: problem, user_id: authorization.user_id });
    }
    await countFailure(deps, address);
    if (suggestsStaleMetadata(problem)) upstreams.forget(provider);
    throw await refuse({ code: 'upstream_failed', reason: 'upstream_failed', problem });
  }
}

/** @returns false if it was spent before. */
export async function spendOnce(
  { db }: Pick<Deps, 'db'>,
  secret: string,
  { started_at }: UpstreamAuthorization,
): Promise<boolean> {
  const token = { token_hash: digest(secret), expires_at: started_at + upstreamAuthorizationSeconds };
  return (await db.of(secret).change({ run: { spent: mayConflict(useOnce(token)) } })).ok;
}

async function exchangeCode(
  deps: Pick<Deps, 'clock'>,
  upstreams: Upstreams,
  provider: Provider,
  { url, authorization }: { url: URL; authorization: UpstreamAuthorization },
): Promise<UpstreamAccount> {
  const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
  const configuration = await upstreams.open(provider);
  const tokens = await authorizationCodeGrant(configuration, url, {
    expectedState: authorization.state,
    expectedNonce: authorization.nonce,
    pkceCodeVerifier: authorization.code_verifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  const { id_token, access_token } = tokens;
  if (!claims || id_token === undefined) throw new UpstreamFailure('id_token_missing');
  checkIdToken({ id_token, claims, access_token }, provider.client_id, now(deps));
  // Many issuers, we among them, send the address from the userinfo endpoint only.
  const hasGroups = provider.groupsClaim === undefined || claims[provider.groupsClaim] !== undefined;
  const isComplete = claims.email !== undefined && claims.email_verified !== undefined && hasGroups;
  const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userinfo = isComplete || !hasUserinfo ? {} : await fetchUserInfo(configuration, access_token, claims.sub);
  return accountOf(provider, claimsOf(claims, userinfo));
}
