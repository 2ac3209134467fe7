import { spendLink } from '../../accounts/one-time-links/store.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';
import type { Provider } from '../credentials/providers.ts';
import { isStale } from './freshness.ts';
import { checkIdToken } from './id-token.ts';
import { checkFailures, countFailure } from './limits.ts';
import { type IdentityRefusal, refuseIdentity } from './refuse-identity.ts';
import { callbackUrl } from './start-upstream-authorization.ts';
import { failureOf, suggestsStaleMetadata, UpstreamFailure, type Upstreams } from './upstream.ts';
import { accountOf, claimsOf, type UpstreamAccount } from './upstream-account.ts';
import {
  failureReturnPath,
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
 * Takes what an upstream sent back with the browser, once, and asks it who that was.
 * @returns who it was; `cancelled` if they did not want to after all.
 * @throws {RequestError} `invalid_request` for a return that was taken already; `upstream_failed` for an answer that is
 * missing, late or not to be trusted.
 */
export async function completeUpstreamAuthorization(
  deps: LimitDeps,
  upstreams: Upstreams,
  provider: Provider,
  { authorization, query, address }: CallbackInput,
): Promise<UpstreamAccount | 'cancelled'> {
  const refuse = (identityRefusal: IdentityRefusal) =>
    refuseIdentity(deps, { provider, address, back: failureReturnPath(authorization) }, identityRefusal);
  if (!(await spendState(deps, authorization))) {
    throw await refuse({ code: 'invalid_request', userMessage: 'federation.over', reason: 'state_used' });
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
      const { user_id } = authorization;
      throw await refuse({
        code: 'access_denied',
        userMessage: 'federation.not_asked_again',
        reason: problem,
        user_id,
      });
    }
    await countFailure(deps, address);
    if (suggestsStaleMetadata(problem)) upstreams.forget(provider);
    throw await refuse({
      code: 'upstream_failed',
      userMessage: 'federation.upstream_failed',
      reason: 'upstream_failed',
      problem,
    });
  }
}

/** Before anything else, so that of any number of returns with one state a single one is looked at. */
const spendState = (deps: Pick<Deps, 'db'>, { state, started_at }: UpstreamAuthorization) =>
  spendOnce(deps, { secret: `federation:${state}`, expires_at: started_at + upstreamAuthorizationSeconds });

/** @returns false if it was spent before. */
export async function spendOnce(
  deps: Pick<Deps, 'db'>,
  { secret, expires_at }: { secret: string; expires_at: number },
) {
  const token_hash = digest(secret);
  return (await deps.db.change({ run: { secret: mayConflict(spendLink({ token_hash, expires_at })) } })).ok;
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
  // Many issuers, we among them, tell the address at the userinfo endpoint alone.
  const isComplete = claims.email !== undefined && claims.email_verified !== undefined;
  const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userinfo = isComplete || !hasUserinfo ? {} : await fetchUserInfo(configuration, access_token, claims.sub);
  return accountOf(provider, claimsOf(claims, userinfo));
}
