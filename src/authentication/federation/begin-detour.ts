import { now } from '../../platform/clock.ts';
import type { Deps, SecretDeps } from '../../platform/deps.ts';
import { newSecret } from '../../platform/ids.ts';
import type { Provider } from '../credentials/providers.ts';
import { localPath } from '../sessions/local-path.ts';
import type { Goal } from '../sessions/return-target.ts';
import type { Session } from '../sessions/session.ts';
import { type Detour, type DetourMode, sealDetour, wayBack } from './detour.ts';
import { checkFailures, countFailure } from './limits.ts';
import { refuseIdentity } from './refuse-identity.ts';
import { failureOf, type Upstreams } from './upstream.ts';

export type Departure = {
  mode: DetourMode;
  goal: Goal;
  /** For `confirm` and `link`: whose account it is about. */
  session?: Session;
  /** What `confirm`, or a client, demands of the proof; see {@link Detour}. */
  asksAnew?: boolean;
  max_age?: number;
  /** As in {@link Detour}. */
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
export async function beginDetour(
  deps: SecretDeps,
  upstreams: Upstreams,
  provider: Provider,
  { mode, goal, session, asksAnew, max_age, fromOurPage, fromElsewhere, login_hint, address }: Departure,
): Promise<{ url: string; cookie: string }> {
  const detour: Detour = {
    provider: provider.id,
    mode,
    ...destinationOf(deps, goal),
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
      state: detour.state,
      nonce: detour.nonce,
      code_challenge: await calculatePKCECodeChallenge(detour.code_verifier),
      code_challenge_method: 'S256',
      ...demandsOf(detour, provider),
      ...(login_hint === undefined ? {} : { login_hint }),
    });
    return { url: url.href, cookie: sealDetour(deps, detour) };
  } catch (error) {
    await countFailure(deps, address);
    throw await refuseIdentity(
      deps,
      { provider, address, back: wayBack(detour) },
      {
        code: 'upstream_failed',
        say: 'federation.upstream_failed',
        reason: 'upstream_failed',
        problem: failureOf(error).reason,
      },
    );
  }
}

/** OIDC Core §3.1.2.1. */
function demandsOf({ mode, asksAnew, max_age }: Detour, { promptToChoose }: Provider): Record<string, string> {
  // Whoever is signed in there now need not be who connects: the person sees, and says, who it is.
  if (mode === 'link') return { prompt: promptToChoose ?? 'login' };
  if (asksAnew) return { prompt: 'login', max_age: '0' };
  return max_age === undefined ? {} : { max_age: String(max_age) };
}

/** Judged before it leaves with the cookie, and short enough for one. */
export function destinationOf({ config }: Pick<Deps, 'config'>, { request_id, next }: Goal): Goal {
  return request_id === undefined ? { next: localPath(next, config.baseUrl) } : { request_id };
}
