import { decodeProtectedHeader, errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import { type Algorithm, algorithms as allAlgorithms } from './algorithms.ts';
import { readBearer } from './bearer.ts';
import type { AccessTokenClaims } from './claims.ts';
import { boundedFetch } from './fetch-json.ts';
import { type IntrospectionOptions, introspection } from './introspection.ts';
import { assertIssuer, keepMetadata } from './issuer.ts';
import { keySource } from './key-set.ts';
import { type Scopes, scopesOf } from './scopes.ts';
import { TokenError, type TokenErrorCode } from './token-error.ts';

export type VerifierOptions = {
  /** Signet's base URL, exactly as it is in `iss`. https, or http on loopback. */
  issuer: string;
  /** The `client_id` of each client whose tokens this API accepts: Signet issues a token for the client that obtains it. */
  audience: string | readonly string[];
  /** Default: all three. */
  algorithms?: readonly Algorithm[];
  /** Scopes that every token needs, as a list or separated by spaces. */
  scope?: Scopes;
  /** Seconds by which the clocks of issuer and API may differ. Default 5, at most 300. */
  clockTolerance?: number;
  /** Ask the issuer about each token, so that a revocation takes effect before the token expires. */
  introspection?: IntrospectionOptions;
  /** Seconds after which a request to the issuer fails. Default 5. */
  timeout?: number;
  /** Seconds between two fetches of the key set that unknown `kid`s can cause. Default 30. */
  keyCooldown?: number;
  /** Seconds for which keys are used beyond their lifetime while the issuer is down. Default 3600, at most a day. */
  maxStaleKeys?: number;
  /** Of the `WWW-Authenticate` header. Default: the issuer. */
  realm?: string;
  /** Instead of the global one, for example with an agent for a proxy. */
  fetch?: typeof fetch;
  /** The time in milliseconds, for tests. */
  now?: () => number;
};

export type VerifyOptions = {
  /** Scopes that the token needs, in addition to the verifier's. */
  scope?: Scopes | undefined;
  /** `false` leaves introspection out for this request, where a revoked token does no harm. */
  introspect?: boolean;
};

/** Every method rejects with a {@link TokenError} and nothing else, whatever the token or header contains. */
export type Verifier = {
  /** Checks an access token. */
  (token: string, options?: VerifyOptions): Promise<AccessTokenClaims>;
  /** Checks the token of an Authorization header; for several headers, pass a list. */
  authorization(
    header: string | readonly string[] | null | undefined,
    options?: VerifyOptions,
  ): Promise<AccessTokenClaims>;
  /** Checks that claims contain each of these scopes. @throws {TokenError} `insufficient_scope`. */
  requireScope(claims: AccessTokenClaims, scope: Scopes): void;
};

/** As Signet's own limit. Its tokens have less than 1 KB. */
const maxTokenLength = 8192;

/** Base64url without padding and without stray bits at the end: one token has one spelling (RFC 4648 §3.5). */
const segment = '(?:[\\w-]{4})*(?:[\\w-][AQgw]|[\\w-]{2}[AEIMQUYcgkosw048])?';
const compactJws = new RegExp(`^${segment}\\.${segment}\\.${segment}$`);

/** Members by which a header would choose the key, encrypt, compress, nest, or ask for an extension (RFC 8725 §3). */
const refusedMembers = ['b64', 'crit', 'cty', 'enc', 'jku', 'jwk', 'x5c', 'x5u', 'zip'];

/**
 * Makes a function that checks Signet's access tokens (RFC 9068). Make one for the whole process: it keeps the keys.
 *
 *     const verify = createVerifier({ issuer: 'https://id.example.com', audience: 'cl_…' });
 *     const { sub } = await verify(token, { scope: 'orders:read' });
 *
 * @throws {TypeError} for options that make no sense.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { issuer, algorithms = allAlgorithms, clockTolerance = 5, timeout = 5, now = Date.now } = options;
  const { keyCooldown = 30, maxStaleKeys = 3600, realm = issuer } = options;
  assertIssuer(issuer);
  const audience = typeof options.audience === 'string' ? [options.audience] : [...(options.audience ?? [])];
  if (audience.length === 0 || audience.some((one) => typeof one !== 'string' || one === '')) {
    throw new TypeError('audience must name at least one client_id.');
  }
  if (algorithms.length === 0 || algorithms.some((name) => !allAlgorithms.includes(name))) {
    throw new TypeError(`algorithms must be some of ${allAlgorithms.join(', ')}.`);
  }
  assertSeconds({ clockTolerance }, 0, 300);
  assertSeconds({ timeout }, 0.01, 60);
  assertSeconds({ keyCooldown }, 1, 300);
  assertSeconds({ maxStaleKeys }, 0, 86_400);
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(realm))
    throw new TypeError('realm must be printable ASCII without quotes.');
  const scopeOfAll = scopesOf(options.scope);

  const fetchJson = boundedFetch(options.fetch, timeout);
  const metadata = keepMetadata({ issuer, fetchJson, now });
  const keys = keySource({ metadata, fetchJson, now, cooldownSeconds: keyCooldown, maxStaleSeconds: maxStaleKeys });
  const introspect = options.introspection && introspection(options.introspection, { metadata, fetchJson, now });
  const acceptsUnasked = options.introspection?.whenUnavailable === 'accept';

  const refusal = (code: TokenErrorCode, description: string, more: { scope?: string; cause?: unknown } = {}) =>
    new TokenError(code, { realm, description, ...more });
  const invalid = (description: string) => refusal('invalid_token', description);
  const unavailable = (cause: unknown) =>
    refusal('unavailable', 'The access token cannot be checked at the moment.', { cause });

  async function verifySigned(token: string): Promise<AccessTokenClaims> {
    if (typeof token !== 'string' || token.length > maxTokenLength || !compactJws.test(token)) {
      throw invalid('The access token is not a signed JWT.');
    }
    const { alg, kid } = readHeader(token);
    let key: Awaited<ReturnType<typeof keys.find>>;
    try {
      key = await keys.find(kid, alg);
    } catch (cause) {
      throw unavailable(cause);
    }
    if (!key) throw invalid('The access token is signed with a key that the issuer does not have.');
    const expected: JWTVerifyOptions = {
      algorithms: [alg],
      issuer,
      audience,
      clockTolerance,
      currentDate: new Date(now()),
      requiredClaims: ['exp', 'iat'],
    };
    try {
      const { payload } = await jwtVerify(token, key, expected);
      return checkClaims(payload);
    } catch (error) {
      throw error instanceof TokenError ? error : invalid(whyNot(error));
    }
  }

  /** Before any key is looked up: most of what is not an access token ends here, and causes no request. */
  function readHeader(token: string): { alg: Algorithm; kid: string } {
    let header: Record<string, unknown>;
    try {
      header = decodeProtectedHeader(token);
    } catch {
      throw invalid('The access token is not a signed JWT.');
    }
    // RFC 9068 §4. An id token has the same issuer, audience and key, and a logout token nearly so.
    const typ = typeof header.typ === 'string' ? header.typ.toLowerCase() : '';
    if (typ !== 'at+jwt' && typ !== 'application/at+jwt') throw invalid('The token is not an access token.');
    const alg = algorithms.find((name) => name === header.alg);
    if (!alg) throw invalid('The access token is signed with an algorithm that is not accepted.');
    if (refusedMembers.some((name) => Object.hasOwn(header, name))) {
      throw invalid('The header of the access token has members that are not accepted.');
    }
    if (typeof header.kid !== 'string' || header.kid === '') throw invalid('The access token does not name its key.');
    return { alg, kid: header.kid };
  }

  function checkClaims(payload: Record<string, unknown>): AccessTokenClaims {
    for (const name of ['sub', 'client_id', 'jti', 'scope']) {
      if (typeof payload[name] !== 'string' || payload[name] === '') {
        throw invalid('The access token lacks a claim that it must have.');
      }
    }
    const { iat, exp } = payload as AccessTokenClaims;
    if (!Number.isFinite(exp) || iat > exp) throw invalid('The access token has a lifetime that makes no sense.');
    if (iat > now() / 1000 + clockTolerance) throw invalid('The access token is not valid yet.');
    // RFC 7800: only with a proof of its key, which a Bearer request does not carry. Accepting it would undo the binding.
    if (Object.hasOwn(payload, 'cnf')) throw invalid('The access token is bound to a key, so it is no Bearer token.');
    return payload as AccessTokenClaims;
  }

  /** The claims with the scope as it is now. */
  async function verifyActive(token: string, claims: AccessTokenClaims, ask: Exclude<typeof introspect, undefined>) {
    let standing: Awaited<ReturnType<typeof ask>>;
    try {
      standing = await ask(token, claims);
    } catch (cause) {
      if (acceptsUnasked) return claims;
      throw unavailable(cause);
    }
    if (!standing.active) throw invalid('The access token is no longer active.');
    return { ...claims, scope: standing.scope };
  }

  function requireScope(claims: AccessTokenClaims, scope: Scopes): void {
    const needed = [...scopeOfAll, ...scopesOf(scope)];
    const granted = new Set(claims.scope.split(' '));
    if (needed.every((name) => granted.has(name))) return;
    throw refusal('insufficient_scope', 'The access token lacks a scope that is needed here.', {
      scope: [...new Set(needed)].join(' '),
    });
  }

  async function verify(token: string, { scope = [], introspect: asked = true }: VerifyOptions = {}) {
    const claims = await verifySigned(token);
    requireScope(claims, scope);
    if (!introspect || !asked) return claims;
    const active = await verifyActive(token, claims, introspect);
    requireScope(active, scope);
    return active;
  }

  const authorization: Verifier['authorization'] = async (header, verifyOptions) => {
    const bearer = readBearer(header);
    if ('token' in bearer) return verify(bearer.token, verifyOptions);
    if (bearer.problem === 'missing') throw refusal('missing_token', 'An access token is required.');
    throw refusal(
      'invalid_request',
      bearer.problem === 'several'
        ? 'There is more than one Authorization header.'
        : 'The Authorization header must be Bearer, a space and the token.',
    );
  };

  return Object.assign(verify, { authorization, requireScope });
}

function assertSeconds(option: Record<string, number>, min: number, max: number): void {
  for (const [name, value] of Object.entries(option)) {
    if (!(typeof value === 'number' && value >= min && value <= max)) {
      throw new TypeError(`${name} must be ${min} to ${max} seconds.`);
    }
  }
}

/** Whatever was not signed by the issuer learns nothing else: claims are compared after the signature. */
function whyNot(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired.';
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : undefined;
  switch (claim) {
    case 'aud':
      return 'The access token is for another audience.';
    case 'iss':
      return 'The access token is from another issuer.';
    case 'nbf':
      return 'The access token is not valid yet.';
    case undefined:
      return 'The signature of the access token is not valid.';
    default:
      return 'The access token lacks a claim that it must have.';
  }
}
