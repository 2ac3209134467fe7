import { hash } from 'node:crypto';
import type { IDToken } from 'openid-client';
import { emailProblem, readableEmail } from '../../platform/email-address.ts';
import { findLocale } from '../../platform/i18n/translate.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import type { Provider } from '../credentials/providers.ts';
import { UpstreamFailure } from './upstream.ts';

/** The user's account upstream, as far as the upstream's claims are accepted. */
export type UpstreamAccount = {
  /** As configured; the token's `iss` was compared with it. */
  issuer: string;
  subject: string;
  email: string | undefined;
  /** Only if the claim is `true`; the text "true" does not count. */
  emailVerified: boolean;
  name: string | null;
  picture: string | null;
  locale: string | null;
  /** When the upstream last authenticated the user, if it says so. Unix seconds. */
  auth_time: number | undefined;
  /** Of its session there, and of the ID token; undefined in what a node of an earlier version has sealed. */
  sid?: string | null;
  issued_at?: number;
  /** Names of groups; undefined if the operator does not follow this provider's. */
  groups?: readonly string[] | undefined;
};

type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/**
 * The claims of both documents. Those of the ID token, which is signed, take precedence; its times and `sid` are taken from it only.
 * `email` and `email_verified` belong together (OIDC Core §5.1), so they come from one document: otherwise an unverified
 * address would count as verified because another one is.
 * @param userinfo empty if it was not requested.
 */
export function claimsOf(idToken: Claims, userinfo: Document): Claims {
  const { email: _email, email_verified: _verified, auth_time: _time, sid: _sid, iat: _iat, ...others } = userinfo;
  return { ...others, ...idToken, ...statedAddress(idToken, userinfo) };
}

type Document = Readonly<Record<string, unknown>>;

function statedAddress(idToken: Document, userinfo: Document): Document {
  if (idToken.email === undefined || idToken.email === null) {
    return { email: userinfo.email, email_verified: userinfo.email_verified };
  }
  const { email, email_verified } = idToken;
  if (email_verified !== undefined) return { email, email_verified };
  const isSame =
    typeof email === 'string' && typeof userinfo.email === 'string' && isSameAddress(email, userinfo.email);
  return { email, email_verified: isSame ? userinfo.email_verified : undefined };
}

/**
 * Equal but for the case of ASCII letters and the spelling of an international domain. `emailKey` folds more (a wide letter, the Kelvin sign), so that no second account
 * can look like the first; to the upstream that verified the address those are different mailboxes.
 */
export function isSameAddress(one: string, other: string): boolean {
  const spelled = (email: string) => readableEmail(email).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return spelled(one) === spelled(other);
}

/** Leaves out claims that a user could not enter here either. */
export function accountOf({ issuer, groupsClaim }: Provider, claims: Claims): UpstreamAccount {
  const email =
    typeof claims.email === 'string' && !emailProblem(claims.email) ? readableEmail(claims.email) : undefined;
  const { auth_time } = claims;
  return {
    issuer,
    subject: claims.sub,
    email,
    emailVerified: email !== undefined && claims.email_verified === true,
    name: typeof claims.name === 'string' && !displayNameProblem(claims.name) ? normalizeName(claims.name) : null,
    picture: typeof claims.picture === 'string' && isPicture(claims.picture) ? claims.picture : null,
    locale: languageOf(claims.locale),
    auth_time: typeof auth_time === 'number' && Number.isFinite(auth_time) ? auth_time : undefined,
    sid: isSid(claims.sid) ? claims.sid : null,
    issued_at: Math.floor(Number(claims.iat)),
    groups: groupsClaim === undefined ? undefined : groupsIn(claims[groupsClaim]),
  };
}

/** `sub` and `sid`: at most 255 ASCII characters (OIDC Core §2). It is part of a primary key. */
const isIdentifier = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value);
export const isSubject = isIdentifier;
export const isSid = isIdentifier;

/** More names of one user are not followed. */
const mostGroups = 500;

/** A claim that is missing says that the user is in no group: many providers leave out an empty list. */
const groupsIn = (claim: unknown): string[] =>
  [claim]
    .flat()
    .filter((name) => typeof name === 'string' && name !== '' && name.length <= 200)
    .slice(0, mostGroups) as string[];

/** What a user recognises the account by. */
export const nameOf = ({ email, name, subject }: UpstreamAccount): string => email ?? name ?? subject;

const isPicture = (text: string) =>
  text.length <= 2000 && URL.canParse(text) && new URL(text).protocol === 'https:' && /^[\x21-\x7e]+$/.test(text);

const languageOf = (locale: unknown): string | null =>
  typeof locale === 'string' ? (findLocale(locale) ?? null) : null;

/** How far an upstream's clock may be ahead of ours. For a clock that is behind, a token is valid long enough. */
const leewaySeconds = 60;

/** Asymmetric signatures only: others can be made with the client secret, or with no key at all. */
function hashOf(algorithm: string): string | undefined {
  const bits = /^[EPR]S(256|384|512)$/.exec(algorithm)?.[1];
  return bits ? `sha${bits}` : /^Ed(DSA|25519)$/.test(algorithm) ? 'sha512' : undefined;
}

type ReceivedTokens = { id_token: string; claims: IDToken; access_token: string };

/**
 * The checks of OIDC Core §3.1.3.7 that the library leaves to us, after it has checked signature, `iss`, `aud` and
 * `nonce`: the algorithm, the times by our own clock, `azp`, and `at_hash` if it is there.
 * @throws {UpstreamFailure}
 */
export function checkIdToken({ id_token, claims, access_token }: ReceivedTokens, client_id: string, now: number): void {
  const algorithm = hashOf(algorithmOf(id_token));
  if (algorithm === undefined) throw new UpstreamFailure('id_token_alg');
  if (!isSeconds(claims.exp) || claims.exp <= now) throw new UpstreamFailure('id_token_exp');
  if (!isSeconds(claims.iat) || claims.iat > now + leewaySeconds) throw new UpstreamFailure('id_token_iat');
  if (claims.nbf !== undefined && (!isSeconds(claims.nbf) || claims.nbf > now + leewaySeconds)) {
    throw new UpstreamFailure('id_token_nbf');
  }
  if (claims.azp !== undefined && claims.azp !== client_id) throw new UpstreamFailure('id_token_azp');
  if (!isSubject(claims.sub)) throw new UpstreamFailure('id_token_sub');
  if (claims.at_hash !== undefined) {
    const digest = hash(algorithm, access_token, 'buffer');
    const expected = digest.subarray(0, digest.length / 2).toString('base64url');
    if (claims.at_hash !== expected) throw new UpstreamFailure('id_token_at_hash');
  }
}

/** A time of a token (RFC 7519 §2): none lies before 1970. */
export const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value);

function algorithmOf(id_token: string): string {
  const header: unknown = JSON.parse(Buffer.from(id_token.split('.', 1)[0] ?? '', 'base64url').toString());
  return typeof header === 'object' && header !== null && 'alg' in header ? String(header.alg) : '';
}
