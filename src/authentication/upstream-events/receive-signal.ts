import { now } from '../../platform/clock.ts';
import { digest } from '../../platform/ids.ts';
import type { Provider, SignalTerms } from '../credentials/providers.ts';
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
  TokenRefused,
} from './provider-token.ts';
import type { PublishedKeys } from './published-keys.ts';

const events = 'https://schemas.openid.net/secevent';
/** By which sessions that rest on the account are over (CAEP 1.0 §3.1; RISC 1.0 §2.2, §2.4, and §2.10, which Google still sends). */
const endings: ReadonlySet<string> = new Set([
  `${events}/caep/event-type/session-revoked`,
  `${events}/risc/event-type/sessions-revoked`,
  `${events}/risc/event-type/account-disabled`,
  `${events}/risc/event-type/account-purged`,
]);
/** In one token; the framework has one (SSF 1.0 §4.1.4). */
const mostEvents = 10;

/** @throws {TokenRefused} unless it is the secret that the provider was given for its stream. */
export function checkCredential({ secretHash }: SignalTerms, authorization: string | undefined): void {
  const token = /^bearer +(\S{1,500})$/i.exec(authorization ?? '')?.[1];
  if (token === undefined || digest(token) !== secretHash) throw new TokenRefused('credential');
}

/**
 * A security event token of a provider (RFC 8417, RFC 8935 §2): its signature, for whom it is, and its type. The same again ends nothing
 * more, since a session that began later than the event is not meant.
 * @returns `ignored` for events that end no session, and for subjects by which none is found.
 * @throws {TokenRefused}
 */
export async function takeSignal(
  deps: Pick<Deps, 'db' | 'clock' | 'claims' | 'grants'>,
  keys: PublishedKeys,
  provider: Provider & { signals: SignalTerms },
  token: string,
): Promise<'accepted' | 'ignored'> {
  const at = now(deps);
  const claims = await readProviderToken(keys, provider, token, (unverified, header) =>
    checkSignal(provider, unverified, header, at),
  );
  let outcome: 'accepted' | 'ignored' = 'ignored';
  for (const [uri, event] of Object.entries(claims.events as Members).slice(0, mostEvents)) {
    const of = endings.has(uri) && isObject(event) ? subjectOf(provider, claims.sub_id ?? event.subject) : undefined;
    if (of === undefined) continue;
    await endUpstreamSessions(deps, provider, {
      ...of,
      until: timeOf(claims, event as Members),
      reason: 'provider_signal',
    });
    outcome = 'accepted';
  }
  return outcome;
}

function checkSignal(
  provider: Provider & { signals: SignalTerms },
  claims: Members,
  { typ }: Members,
  at: number,
): void {
  const { iss, aud, iat, exp, jti, events: said } = claims;
  // So that no ID token, and no other token of the provider, is taken for one (RFC 8417 §4.5).
  refuseUnless(/^(application\/)?secevent\+jwt$/i.test(String(typ)), 'type');
  refuseUnless(isIssuer(provider, iss), 'issuer');
  refuseUnless(isAudience(provider.signals.audience, aud), 'audience');
  const isTimely =
    isSeconds(iat) && iat <= at + leewaySeconds && (exp === undefined || (isSeconds(exp) && exp > at - leewaySeconds));
  refuseUnless(isTimely, 'time');
  refuseUnless(isObject(said) && Object.keys(said).length > 0, 'event');
  refuseUnless(typeof jti === 'string' && jti !== '', 'jti');
}

type Subject = { subject: string | undefined; sid: string | undefined };

/** What Keycloak has as the session when an administrator signs a user out. No session has this name, so as one it would end nothing. */
const everySession = 'ALL';

/**
 * RFC 9493 §3.2.5, SSF 1.0 §3.3. An address is none by which an account is found: it may belong to another person tomorrow.
 * @returns undefined for what names neither an account of the provider nor a session.
 */
function subjectOf(provider: Provider, named: unknown): Subject | undefined {
  if (!isObject(named)) return undefined;
  const user = accountIn(provider, named.user ?? named);
  const { session } = named;
  const isNamed = isObject(session) && session.format === 'opaque' && session.id !== everySession;
  const sid = isNamed && isSid(session.id) ? session.id : undefined;
  if (named.user !== undefined && user === undefined) return undefined;
  return user === undefined && sid === undefined ? undefined : { subject: user, sid };
}

/** Google has the names of an earlier draft. */
const formats: readonly unknown[] = ['iss_sub', 'iss-sub'];

function accountIn(provider: Provider, named: unknown): string | undefined {
  if (!isObject(named)) return undefined;
  const isAccount = formats.includes(named.format ?? named.subject_type) && isIssuer(provider, named.iss);
  return isAccount && isSubject(named.sub) ? named.sub : undefined;
}

/** When it happened, by the clock of the provider; never later than the token. */
function timeOf({ iat, toe }: Members, { event_timestamp }: Members): number {
  const latest = Math.floor(iat as number);
  const said = [event_timestamp, toe].find(isSeconds);
  return said === undefined ? latest : Math.min(Math.floor(said), latest);
}
