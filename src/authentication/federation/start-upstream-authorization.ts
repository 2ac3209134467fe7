import { now } from '../../platform/clock.ts';
import type { Deps, SecretDeps } from '../../platform/deps.ts';
import { newSecret } from '../../platform/ids.ts';
import type { Provider } from '../credentials/providers.ts';
import { localPath } from '../sessions/local-path.ts';
import type { ReturnTarget } from '../sessions/return-target.ts';
import type { Session } from '../sessions/session.ts';
import { checkFailures, countFailure } from './limits.ts';
import { refuseIdentity } from './refuse-identity.ts';
import { failureOf, type Upstreams } from './upstream.ts';
import {
  failureReturnPath,
  sealUpstreamAuthorization,
  type UpstreamAuthorization,
  type UpstreamAuthorizationMode,
} from './upstream-authorization.ts';

export type UpstreamRequest = {
  mode: UpstreamAuthorizationMode;
  returnTarget: ReturnTarget;
  /** For `confirm` and `link`: whose account it is about. */
  session?: Session;
  /** What `confirm`, or a client, demands of the proof; see {@link UpstreamAuthorization}. */
  asksAnew?: boolean;
  max_age?: number;
  /** As in {@link UpstreamAuthorization}. */
  fromOurPage?: boolean;
  fromElsewhere?: boolean;
  /** The address that the person has there, as a help. */
  login_hint?: string;
  address: string;
};

/** Where the callback is: registered upstream, character for character. */
export const callbackUrl = ({ config }: Pick<Deps, 'config'>, { id }: Pick<Provider, 'id'>) =>
  `${config.baseUrl}/auth/${id}/callback`;

/**
 * Sends somebody to an upstream: authorization code flow with PKCE, nonce and state (RFC 9700 §2.1.1, §4.7).
 * @returns where to redirect, and the cookie that the callback will ask for.
 * @throws {RequestError} `upstream_failed` when the issuer cannot be asked where its endpoints are.
 */
export async function startUpstreamAuthorization(
  deps: SecretDeps,
  upstreams: Upstreams,
  provider: Provider,
  { mode, returnTarget, session, asksAnew, max_age, fromOurPage, fromElsewhere, login_hint, address }: UpstreamRequest,
): Promise<{ url: string; cookie: string }> {
  const authorization: UpstreamAuthorization = {
    provider: provider.id,
    mode,
    ...safeReturnTarget(deps, returnTarget),
    state: newSecret(),
    nonce: newSecret(),
    code_verifier: newSecret(),
    started_at: now(deps),
    session_id: session?.session_id,
    user_id: session?.user_id,
    asksAnew,
    max_age,
    fromOurPage,
    fromElsewhere,
  };
  await checkFailures(deps, address);
  try {
    const configuration = await upstreams.open(provider);
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: callbackUrl(deps, provider),
      scope: 'openid email profile',
      state: authorization.state,
      nonce: authorization.nonce,
      code_challenge: await calculatePKCECodeChallenge(authorization.code_verifier),
      code_challenge_method: 'S256',
      ...promptParameters(authorization, provider),
      ...(login_hint === undefined ? {} : { login_hint }),
    });
    return { url: url.href, cookie: sealUpstreamAuthorization(deps, authorization) };
  } catch (error) {
    await countFailure(deps, address);
    throw await refuseIdentity(
      deps,
      { provider, address, back: failureReturnPath(authorization) },
      {
        code: 'upstream_failed',
        userMessage: 'federation.upstream_failed',
        reason: 'upstream_failed',
        problem: failureOf(error).reason,
      },
    );
  }
}

/** OIDC Core §3.1.2.1. */
function promptParameters(
  { mode, asksAnew, max_age }: UpstreamAuthorization,
  { promptToChoose }: Provider,
): Record<string, string> {
  // Whoever is signed in there now need not be who connects: the person sees, and says, who it is.
  if (mode === 'link') return { prompt: promptToChoose ?? 'login' };
  if (asksAnew) return { prompt: 'login', max_age: '0' };
  return max_age === undefined ? {} : { max_age: String(max_age) };
}

/** Judged before it leaves with the cookie, and short enough for one. */
export function safeReturnTarget({ config }: Pick<Deps, 'config'>, { request_id, next }: ReturnTarget): ReturnTarget {
  return request_id === undefined ? { next: localPath(next, config.baseUrl) } : { request_id };
}
