import { readCompactJws } from '../../platform/compact-jws.ts';
import type { Provider } from '../credentials/providers.ts';
import { spelledIssuer } from '../credentials/providers.ts';
import { UpstreamFailure } from '../federation/upstream.ts';
import { isSignedBy, isSigningAlgorithm, type PublishedKey } from './jws-algorithms.ts';
import type { PublishedKeys } from './published-keys.ts';

/** Why a token of a provider was not taken. Administrators read a sentence for each. */
export const tokenProblems = {
  malformed: 'The token is no signed JWT (a JWS in compact serialization) of at most 16384 characters.',
  type: 'The header typ of the token is that of another kind.',
  algorithm: 'The algorithm of the signature is not supported. It must be asymmetric, such as RS256 or ES256.',
  issuer: 'iss is not the issuer of this provider.',
  audience: 'aud does not name this service.',
  time: 'The times of the token are missing or wrong: iat is in the future or long ago, or exp is over.',
  event: 'events does not have the event that this endpoint takes.',
  nonce: 'The token has a nonce, so it may be an ID token.',
  subject: 'The token names no session and no user by which ours are found: sub, sid or sub_id.',
  jti: 'jti is missing.',
  key: 'The keys that the provider publishes do not have the one that the token names.',
  signature: 'The signature was not made with a key that the provider publishes.',
  unreachable: 'The keys of the provider could not be read. Send the token again later.',
  credential: 'The credential in the header Authorization is missing or wrong.',
} as const;
export type TokenProblem = keyof typeof tokenProblems;
export const isTokenProblem = (text: string): text is TokenProblem => Object.hasOwn(tokenProblems, text);

export class TokenRefused extends Error {
  override name = 'TokenRefused';
  readonly problem: TokenProblem;
  constructor(problem: TokenProblem, cause?: unknown) {
    super(tokenProblems[problem], { cause });
    this.problem = problem;
  }
}

/** @throws {TokenRefused} */
export function refuseUnless(isFine: boolean, problem: TokenProblem): void {
  if (!isFine) throw new TokenRefused(problem);
}

export type Members = Readonly<Record<string, unknown>>;

const maxLength = 16_384;
/** Of keys without a name. */
const mostTried = 5;

/** How far the clock of a provider may be from ours. */
export const leewaySeconds = 60;

/**
 * A JWT that a provider has signed. Whatever needs no key is checked first: what anyone makes up costs no verification, and no
 * request to the provider.
 * @param check of header and claims. @throws {TokenRefused}
 */
export async function readProviderToken(
  keys: PublishedKeys,
  provider: Provider,
  text: string,
  check: (claims: Members, header: Members) => void,
): Promise<Members> {
  const jws = readCompactJws(text, maxLength);
  if (!jws) throw new TokenRefused('malformed');
  const { header, claims } = jws;
  const { alg, kid } = header;
  if (!isSigningAlgorithm(alg)) throw new TokenRefused('algorithm');
  check(claims, header);
  const isWanted = (key: PublishedKey) => key.isFor(alg) && (kid === undefined || key.kid === kid);
  const found = await keys.find(provider, isWanted);
  if (found instanceof UpstreamFailure) throw new TokenRefused('unreachable', found.reason);
  if (found.length === 0) throw new TokenRefused('key');
  for (const { key } of found.slice(0, mostTried)) if (await isSignedBy(jws, key, alg)) return claims;
  throw new TokenRefused('signature');
}

/** As identities are kept: an issuer of a host alone may have a slash at its end, or none. */
export const isIssuer = ({ issuer }: Pick<Provider, 'issuer'>, iss: unknown): boolean =>
  typeof iss === 'string' && iss.length <= 500 && spelledIssuer(iss) === issuer;

export const isAudience = (wanted: string, aud: unknown): boolean =>
  aud === wanted || (Array.isArray(aud) && aud.includes(wanted));

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
