import { now } from '../../platform/clock.ts';
import type { Provider } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { isSeconds, isSid, isSubject } from '../federation/upstream-account.ts';
import { endUpstreamSessions } from './end-upstream-sessions.ts';
import {
  isAudience,
  isIssuer,
  isObject,
  leewaySeconds,
  type Members,
  readProviderToken,
  refuseUnless,
} from './provider-token.ts';
import type { PublishedKeys } from './published-keys.ts';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** Seconds since it was issued. A provider that repeats one for longer signs it anew. */
const longestAge = 3600;

/**
 * What a provider says by a logout token (Back-Channel Logout 1.0 §2.6): its signature, for whom it is, and that it is one. `jti` must be
 * there, and is not remembered: the same token again ends nothing more.
 * @throws {TokenRefused}
 */
export async function takeLogoutToken(
  deps: Pick<Deps, 'db' | 'clock' | 'claims' | 'grants'>,
  keys: PublishedKeys,
  provider: Provider,
  logout_token: string,
): Promise<'accepted'> {
  const at = now(deps);
  const claims = await readProviderToken(keys, provider, logout_token, (unverified, header) =>
    checkLogoutToken(provider, unverified, header, at),
  );
  const { sub, sid, iat } = claims as { sub?: string; sid?: string; iat: number };
  const until = Math.floor(iat);
  await endUpstreamSessions(deps, provider, { subject: sub, sid, until, reason: 'provider_sign_out' });
  return 'accepted';
}

function checkLogoutToken(provider: Provider, claims: Members, { typ }: Members, at: number): void {
  const { iss, aud, iat, exp, jti, sub, sid, events } = claims;
  // §2.4: recommended, so that many leave it out. It may have its prefix (RFC 7515 §4.1.9).
  const isOfType = typ === undefined || /^(application\/)?(logout\+jwt|jwt)$/i.test(String(typ));
  refuseUnless(isOfType, 'type');
  refuseUnless(isIssuer(provider, iss), 'issuer');
  refuseUnless(isAudience(provider.client_id, aud), 'audience');
  const isTimely = isSeconds(iat) && iat <= at + leewaySeconds && iat >= at - longestAge;
  // Drafts of the standard had no `exp`, and Ory Hydra sends none: then the age alone says that it is over.
  refuseUnless(isTimely && (exp === undefined || (isSeconds(exp) && exp > at - leewaySeconds)), 'time');
  refuseUnless(isObject(events) && Object.hasOwn(events, logoutEvent) && isObject(events[logoutEvent]), 'event');
  refuseUnless(!('nonce' in claims), 'nonce');
  refuseUnless(typeof jti === 'string' && jti !== '', 'jti');
  const isNamed = (sub === undefined || isSubject(sub)) && (sid === undefined || isSid(sid));
  refuseUnless(isNamed && (sub !== undefined || sid !== undefined), 'subject');
}
