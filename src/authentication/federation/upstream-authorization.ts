import { now } from '../../platform/clock.ts';
import type { Deps } from '../../platform/deps.ts';
import { type ReturnTarget, returnTargetQuery } from '../sessions/return-target.ts';

/** A detour to an upstream provider, as a sign-in under way (decisions §3). */
export const upstreamAuthorizationSeconds = 600;

/** What it is for: a sign-in; the same person once more; an identity for the account that is signed in. */
export type UpstreamAuthorizationMode = 'sign_in' | 'confirm' | 'link';

/**
 * What we must remember while a browser is with an upstream. It travels in that browser's own cookie, sealed, so that a
 * callback works there and nowhere else, and a row is written only by who comes back.
 */
export type UpstreamAuthorization = ReturnTarget & {
  provider: string;
  mode: UpstreamAuthorizationMode;
  state: string;
  nonce: string;
  code_verifier: string;
  started_at: number;
  /** The browser left from one of our own pages; see fetch-site.ts. */
  fromOurPage?: boolean;
  /** Another site has sent the browser, so its user may not have meant to sign in; see fetch-site.ts. */
  fromElsewhere?: boolean;
  /** The upstream must ask who it is, although it knows the browser. */
  asksAnew?: boolean;
  /** How old a client lets the proof be at most, in seconds. */
  max_age?: number;
  /** For `confirm` and `link`: whose session began it. */
  session_id?: string;
  user_id?: string;
};

export const sealUpstreamAuthorization = (deps: Pick<Deps, 'vault'>, authorization: UpstreamAuthorization): string =>
  deps.vault.browser.seal('federation', JSON.stringify(authorization));

/** @returns undefined for a cookie that is missing, altered, another provider's, or older than ten minutes. */
export function openUpstreamAuthorization(
  deps: Pick<Deps, 'vault' | 'clock'>,
  sealed: string | undefined,
  provider_id: string,
): UpstreamAuthorization | undefined {
  if (sealed === undefined || sealed.length > 8192) return undefined;
  let authorization: UpstreamAuthorization;
  try {
    authorization = JSON.parse(deps.vault.browser.open('federation', sealed)) as UpstreamAuthorization;
  } catch {
    return undefined;
  }
  return authorization.provider === provider_id && authorization.started_at + upstreamAuthorizationSeconds > now(deps)
    ? authorization
    : undefined;
}

/** Where somebody goes on whom the detour has not brought where they wanted. */
export function failureReturnPath({
  mode,
  ...returnTarget
}: ReturnTarget & { mode: UpstreamAuthorizationMode }): string {
  if (mode === 'link') return '/account/security/providers';
  return `${mode === 'confirm' ? '/signin/confirm' : '/signin'}${returnTargetQuery(returnTarget)}`;
}
