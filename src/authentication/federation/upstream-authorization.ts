import { now } from '../../platform/clock.ts';
import type { Deps, SecretDeps } from '../../platform/deps.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { newSecret } from '../../platform/ids.ts';
import type { Provider } from '../credentials/providers.ts';
import { localPath, type ReturnTarget, returnTargetQuery } from '../sessions/return-target.ts';
import type { Session } from '../sessions/store.ts';
import { type CallbackContext, checkFailures, countFailure, refuseIdentity } from './refuse-identity.ts';
import { failureOf, type Upstreams } from './upstream.ts';
import type { UpstreamAccount } from './upstream-account.ts';

/** Decisions §3. */
export const upstreamAuthorizationSeconds = 600;

/** Times are in seconds. */
type Demands = {
  /** A sign-in; a confirmation by the user who is signed in; an identity to link to their account. */
  mode: 'sign_in' | 'confirm' | 'link';
  /** See {@link isSameOriginRequest}. */
  fromOurPage?: boolean;
  /** See {@link isCrossSiteRequest}: the user may not have meant to sign in. */
  fromElsewhere?: boolean;
  /** The upstream must authenticate the user, even if it knows the browser. */
  asksAnew?: boolean;
  max_age?: number;
};

/**
 * An authorization under way at an upstream. It is kept in the browser's own cookie, sealed: a callback works in that
 * browser only, and nothing is stored for a browser that does not come back.
 */
export type UpstreamAuthorization = ReturnTarget &
  Demands & {
    provider: string;
    /** Its issuer, since another provider may get its ID meanwhile; undefined of a node of an earlier version. */
    issuer?: string;
    state: string;
    nonce: string;
    code_verifier: string;
    started_at: number;
    /** For `confirm` and `link`: the session that began it. */
    session_id?: string;
    user_id?: string;
  };

export type UpstreamRequest = Demands & {
  returnTarget: ReturnTarget;
  /** For `confirm` and `link`. */
  session?: Session;
  login_hint?: string;
  address: string;
};

/** Registered upstream, character for character. */
export const callbackUrl = ({ config }: Pick<Deps, 'config'>, { id }: Pick<Provider, 'id'>) =>
  `${config.baseUrl}/auth/${id}/callback`;

/** Registered upstream as `backchannel_logout_uri`. */
export const backchannelLogoutUrl = ({ config }: Pick<Deps, 'config'>, { id }: Pick<Provider, 'id'>): string =>
  `${config.baseUrl}/auth/${id}/backchannel-logout`;

/** Where it pushes security events. */
export const signalsUrl = ({ config }: Pick<Deps, 'config'>, { id }: Pick<Provider, 'id'>): string =>
  `${config.baseUrl}/auth/${id}/signals`;

/**
 * Begins the authorization code flow with PKCE, nonce and state (RFC 9700 §2.1.1, §4.7).
 * @returns the URL to redirect to, and the cookie that the callback reads.
 * @throws {RequestError} `upstream_failed` when the metadata of the issuer cannot be read.
 */
export async function startUpstreamAuthorization(
  deps: SecretDeps,
  upstreams: Upstreams,
  provider: Provider,
  { returnTarget, session, login_hint, address, ...demands }: UpstreamRequest,
): Promise<{ url: string; cookie: string }> {
  const authorization: UpstreamAuthorization = {
    ...demands,
    ...safeReturnTarget(deps, returnTarget),
    provider: provider.id,
    issuer: provider.issuer,
    state: newSecret(),
    nonce: newSecret(),
    code_verifier: newSecret(),
    started_at: now(deps),
    session_id: session?.session_id,
    user_id: session?.user_id,
  };
  await checkFailures(deps, address);
  try {
    const configuration = await upstreams.open(provider);
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: callbackUrl(deps, provider),
      scope: [...new Set(`openid email profile ${provider.scope ?? ''}`.trim().split(/ +/))].join(' '),
      state: authorization.state,
      nonce: authorization.nonce,
      code_challenge: await calculatePKCECodeChallenge(authorization.code_verifier),
      code_challenge_method: 'S256',
      ...promptParameters(authorization, provider),
      ...(login_hint === undefined ? {} : { login_hint }),
    });
    return { url: url.href, cookie: deps.vault.browser.seal('federation', JSON.stringify(authorization)) };
  } catch (error) {
    await countFailure(deps, address);
    const context = callbackContext(provider, address, authorization);
    const problem = failureOf(error).reason;
    throw await refuseIdentity(deps, context, { code: 'upstream_failed', reason: 'upstream_failed', problem });
  }
}

/** OIDC Core §3.1.2.1. */
function promptParameters(
  { mode, asksAnew, max_age }: UpstreamAuthorization,
  { promptToChoose }: Provider,
): Record<string, string> {
  // The browser may be signed in there as another user, so the user has to choose the account.
  if (mode === 'link') return { prompt: promptToChoose ?? 'login' };
  if (asksAnew) return { prompt: 'login', max_age: '0' };
  return max_age === undefined ? {} : { max_age: String(max_age) };
}

/** Checked before it goes into the cookie, and short enough for one. */
export const safeReturnTarget = ({ config }: Pick<Deps, 'config'>, { request_id, next }: ReturnTarget): ReturnTarget =>
  request_id === undefined ? { next: localPath(next, config.baseUrl) } : { request_id };

/** @returns undefined for a cookie that is missing, altered, of another provider, or older than ten minutes. */
export function openUpstreamAuthorization(
  deps: Pick<Deps, 'vault' | 'clock'>,
  sealed: string | undefined,
  { id, issuer }: Pick<Provider, 'id' | 'issuer'>,
): UpstreamAuthorization | undefined {
  if (sealed === undefined || sealed.length > 8192) return undefined;
  let authorization: UpstreamAuthorization;
  try {
    authorization = JSON.parse(deps.vault.browser.open('federation', sealed)) as UpstreamAuthorization;
  } catch {
    return undefined;
  }
  const isActive = authorization.started_at + upstreamAuthorizationSeconds > now(deps);
  const isOfIt = authorization.provider === id && (authorization.issuer ?? issuer) === issuer;
  return isOfIt && isActive ? authorization : undefined;
}

export function failureReturnPath({ mode, ...returnTarget }: ReturnTarget & Pick<Demands, 'mode'>): string {
  if (mode === 'link') return '/account/security/providers';
  if (mode === 'confirm') return `/signin/confirm${returnTargetQuery(returnTarget)}`;
  return `/signin${returnTargetQuery({ ...returnTarget, stay: true })}`;
}

const exitLabels = {
  sign_in: 'reset.back',
  confirm: 'error.again',
  link: 'error.to_providers',
} as const satisfies Record<Demands['mode'], MessageKey>;

export const callbackContext = (
  provider: Provider,
  address: string,
  authorization: UpstreamAuthorization,
): CallbackContext => ({
  provider,
  address,
  mode: authorization.mode,
  exit: { path: failureReturnPath(authorization), label: exitLabels[authorization.mode] },
});

/** Allowed difference between the upstream's clock and ours. */
const leewaySeconds = 60;

/**
 * The time since which the user must have been authenticated (OIDC Core §3.1.2.1).
 * @param now and the result in Unix seconds; undefined if any authentication is recent enough.
 */
export function authenticatedSince({ asksAnew, max_age, started_at }: UpstreamAuthorization, now: number) {
  if (asksAnew) return started_at - leewaySeconds;
  return max_age === undefined ? undefined : now - max_age - leewaySeconds;
}

/** Whether the upstream's `auth_time` is too long ago. Without one it is decided later, by the session that the sign-in would renew. */
export function isStale({ auth_time }: UpstreamAccount, authorization: UpstreamAuthorization, now: number): boolean {
  const since = authenticatedSince(authorization, now);
  return since !== undefined && auth_time !== undefined && auth_time < since;
}

/**
 * By Fetch Metadata §2.1, which no page can forge. A request without the header does not come from a current browser, so
 * no site can have caused it.
 * @param site the header `Sec-Fetch-Site`.
 */
export const isSameOriginRequest = (site: unknown): boolean => site === undefined || site === 'same-origin';

/** Another site, also a subdomain of the same site. A bookmark or a typed address is none. */
export const isCrossSiteRequest = (site: unknown): boolean => !isSameOriginRequest(site) && site !== 'none';
