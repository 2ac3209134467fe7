import { type Algorithm, algorithms as allAlgorithms } from './algorithms.ts';
import { type HeaderValues, readAuthorization, type Scheme } from './authorization.ts';
import { isQuotable, type Refuse, refusals } from './challenge.ts';
import type { AccessTokenClaims } from './claims.ts';
import { type DpopOptions, type PresentedProof, ProofError, proofAlgorithms, proofChecker } from './dpop.ts';
import { boundedFetch, isObject, jsonBy } from './fetch-json.ts';
import { type IntrospectionOptions, introspection } from './introspection.ts';
import { assertIssuer, keepMetadata } from './issuer.ts';
import { keySource } from './key-set.ts';
import { type Requirements, readRequirements, requirementChecker } from './requirements.ts';
import { describeResource, type ProtectedResource, type ResourceMetadata } from './resource-metadata.ts';
import { type Scopes, scopesOf } from './scopes.ts';
import { signedTokenChecker } from './signed-token.ts';
import { type StatusListOptions, statusLists } from './status-list.ts';

export type VerifierOptions = {
  /** Signet's base URL, exactly as it is in `iss`. https, or http on loopback. */
  issuer: string;
  /**
   * The identifier of this API as it is registered at Signet, such as `https://orders.example.com`. For an API that is not registered, the
   * `client_id` of each client whose tokens it accepts; a token that is for another API is refused even then. There may be several.
   */
  audience: string | readonly string[];
  /** Default: all three. */
  algorithms?: readonly Algorithm[];
  /** Scopes that every token needs, as a list or separated by spaces. */
  scope?: Scopes;
  /** Seconds by which the clocks of issuer and API may differ. Default 5, at most 300. */
  clockTolerance?: number;
  /** Ask the issuer about each token, so that a revocation takes effect before the token expires. */
  introspection?: IntrospectionOptions;
  /**
   * How the list is read that a token names in `status`, so that a revoked token is refused within a minute. A token that names none is
   * good until it expires. `false`: do not read lists.
   */
  statusList?: StatusListOptions | false;
  /** Accept access tokens that are bound to a key, with a proof of it (RFC 9449). Without this they are refused. */
  dpop?: DpopOptions;
  /** What clients may read about this API (RFC 9728): its address is in every challenge, and `protectedResource` serves it. */
  metadata?: ResourceMetadata;
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

export type VerifyOptions = Requirements & {
  /** `false` leaves introspection and status lists out for this request, where a revoked token does no harm. */
  introspect?: boolean;
  /** What came with a token of the scheme DPoP. */
  dpop?: PresentedProof | undefined;
};

/** Every method rejects with a {@link TokenError} and nothing else, whatever the token or header contains. */
export type Verifier = {
  /** Checks an access token: a bound one with `dpop`, any other without. */
  (token: string, options?: VerifyOptions): Promise<AccessTokenClaims>;
  /** Checks the token of an Authorization header; for several headers, pass a list. `dpop` counts if the scheme is DPoP. */
  authorization(header: HeaderValues, options?: VerifyOptions): Promise<AccessTokenClaims>;
  /** Checks the token of a request. */
  request(request: Request, options?: Omit<VerifyOptions, 'dpop'>): Promise<AccessTokenClaims>;
  /** Checks what a route needs of a token that was verified. @throws {TokenError} */
  check(claims: AccessTokenClaims, requirements: Requirements): void;
  /** Checks that claims contain each of these scopes. @throws {TokenError} `insufficient_scope`. */
  requireScope(claims: AccessTokenClaims, scope: Scopes): void;
  /** The metadata of this API, if they were given. */
  readonly resource: ProtectedResource | undefined;
};

/**
 * Makes a function that checks Signet's access tokens (RFC 9068). Make one for the whole process: it keeps the keys.
 *
 *     const verify = createVerifier({ issuer: 'https://id.example.com', audience: 'https://orders.example.com' });
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
    throw new TypeError('audience must name this API, or at least one client_id.');
  }
  if (algorithms.length === 0 || algorithms.some((name) => !allAlgorithms.includes(name))) {
    throw new TypeError(`algorithms must be some of ${allAlgorithms.join(', ')}.`);
  }
  assertSeconds({ clockTolerance }, 0, 300);
  assertSeconds({ timeout }, 0.01, 60);
  assertSeconds({ keyCooldown }, 1, 300);
  assertSeconds({ maxStaleKeys }, 0, 86_400);
  if (!isQuotable(realm)) throw new TypeError('realm must be printable ASCII without quotes.');
  const scopeOfAll = scopesOf(options.scope);

  const fetchText = boundedFetch(options.fetch, timeout);
  const fetchJson = jsonBy(fetchText);
  const metadata = keepMetadata({ issuer, fetchJson, now });
  const keys = keySource({ metadata, fetchJson, now, cooldownSeconds: keyCooldown, maxStaleSeconds: maxStaleKeys });
  const introspect =
    options.introspection &&
    introspection(options.introspection, { metadata, fetchJson, now, audience: new Set(audience) });
  const isRevoked =
    options.statusList !== false &&
    statusLists(options.statusList ?? {}, { issuer, algorithms, keys, fetchText, now, clockTolerance });
  const acceptsUnasked = options.introspection?.whenUnavailable === 'accept';

  const { dpop } = options;
  const checkProof = dpop && proofChecker(dpop, { audience, now });
  const schemes: readonly Scheme[] = dpop ? (dpop.required ? ['DPoP'] : ['Bearer', 'DPoP']) : ['Bearer'];
  const resource = options.metadata && describeResource(options.metadata, { issuer, audience, dpop });
  const refuse = refusals({ realm, schemes, proofAlgorithms, resourceMetadata: resource?.url });
  const unavailable = (cause: unknown) =>
    refuse('unavailable', 'The access token cannot be checked at the moment.', { cause });
  const verifySigned = signedTokenChecker({ issuer, audience, algorithms, clockTolerance, keys, unavailable, now });
  const ownScopes = scopesOf(options.metadata?.scopes_supported);
  const checkRequirements = requirementChecker({ refuse, scopeOfAll, ownScopes, now, clockTolerance });

  /** With the scopes that are needed, in a challenge for a client that has no token for them (RFC 6750 §3). */
  function refusing(needed: readonly string[], scheme: Scheme | undefined): Refuse {
    const scope = [...new Set([...scopeOfAll, ...needed])];
    return (code, description, refusal) => refuse(code, description, { scheme, scope, ...refusal });
  }

  /** RFC 9449 §7.1, §7.2: a token that is bound to a key counts with a proof of it, and no other counts with one. */
  async function checkBinding(token: string, claims: AccessTokenClaims, proof: PresentedProof | undefined, no: Refuse) {
    const invalid = (description: string) => no('invalid_token', description);
    if (!Object.hasOwn(claims, 'cnf')) {
      if (proof) throw invalid('The access token is bound to no key, so it is not sent as DPoP.');
      if (dpop?.required) throw invalid('The access token must be bound to a key (DPoP).');
      return;
    }
    // Accepting it as a Bearer token would undo the binding.
    if (!proof) throw invalid('The access token is bound to a key, so it is no Bearer token.');
    const thumbprint = isObject(claims.cnf) ? claims.cnf.jkt : undefined;
    if (!checkProof || typeof thumbprint !== 'string' || Object.keys(claims.cnf as object).length !== 1) {
      throw invalid('The access token is bound to a key in a way that is not accepted.');
    }
    try {
      await checkProof(token, thumbprint, proof);
    } catch (error) {
      throw error instanceof ProofError ? no('invalid_dpop_proof', error.message) : unavailable(error);
    }
  }

  async function checkStatus(claims: AccessTokenClaims, no: Refuse): Promise<void> {
    if (!isRevoked) return;
    let revoked: boolean;
    try {
      revoked = await isRevoked(claims);
    } catch (cause) {
      throw unavailable(cause);
    }
    if (revoked) throw no('invalid_token', 'The access token has been revoked.');
  }

  /** The claims with the scope as it is now. */
  async function verifyActive(
    token: string,
    claims: AccessTokenClaims,
    ask: Exclude<typeof introspect, undefined>,
    no: Refuse,
  ) {
    let standing: Awaited<ReturnType<typeof ask>>;
    try {
      standing = await ask(token, claims);
    } catch (cause) {
      if (acceptsUnasked) return claims;
      throw unavailable(cause);
    }
    if (!standing.active) throw no('invalid_token', 'The access token is no longer active.');
    return { ...claims, scope: standing.scope };
  }

  async function verify(token: string, { introspect: asked = true, dpop: proof, ...required }: VerifyOptions = {}) {
    const requirements = readRequirements(required);
    const no = refusing(requirements.scope, proof ? 'DPoP' : 'Bearer');
    const claims = await verifySigned(token, no);
    await checkBinding(token, claims, proof, no);
    checkRequirements(claims, requirements);
    if (asked) await checkStatus(claims, no);
    if (!introspect || !asked) return claims;
    const active = await verifyActive(token, claims, introspect, no);
    checkRequirements(active, requirements);
    return active;
  }

  const authorization: Verifier['authorization'] = async (header, { dpop: proof, ...verifyOptions } = {}) => {
    const read = readAuthorization(header, dpop ? ['Bearer', 'DPoP'] : ['Bearer']);
    if ('token' in read) {
      const presented = proof ?? { proof: undefined, method: '', path: '' };
      return verify(read.token, read.scheme === 'DPoP' ? { ...verifyOptions, dpop: presented } : verifyOptions);
    }
    const missing = refusing(scopesOf(verifyOptions.scope), undefined);
    if (read.problem === 'missing') throw missing('missing_token', 'An access token is required.');
    throw refuse(
      'invalid_request',
      read.problem === 'several'
        ? 'There is more than one Authorization header.'
        : `The Authorization header must be ${schemes.join(' or ')}, a space and the token.`,
    );
  };

  return Object.assign(verify, {
    authorization,
    request: ({ headers, method, url }: Request, verifyOptions?: VerifyOptions) =>
      authorization(headers.get('authorization'), {
        ...verifyOptions,
        dpop: { proof: headers.get('dpop'), method, path: new URL(url).pathname },
      }),
    check: (claims: AccessTokenClaims, required: Requirements) => checkRequirements(claims, readRequirements(required)),
    requireScope: (claims: AccessTokenClaims, scope: Scopes) => checkRequirements(claims, readRequirements({ scope })),
    resource,
  });
}

function assertSeconds(option: Record<string, number>, min: number, max: number): void {
  for (const [name, value] of Object.entries(option)) {
    if (!(typeof value === 'number' && value >= min && value <= max)) {
      throw new TypeError(`${name} must be ${min} to ${max} seconds.`);
    }
  }
}
