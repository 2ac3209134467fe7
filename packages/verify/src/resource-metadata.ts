import type { DpopOptions } from './dpop.ts';
import { proofAlgorithms } from './dpop.ts';
import { isSecureUrl } from './issuer.ts';
import { scopesOf } from './scopes.ts';

/** What clients may read about an API (RFC 9728 §2), by the names that the members have there. */
export type ResourceMetadata = {
  /** The API's identifier, as it is registered at Signet: a URL. Default: the audience that is one. */
  resource?: string;
  /** The scopes that a client may ask for: those of the API. */
  scopes_supported?: readonly string[];
  /** For people. */
  resource_name?: string;
  resource_documentation?: string;
  resource_policy_uri?: string;
  resource_tos_uri?: string;
  [name: string]: unknown;
};

/** The metadata of an API, and where they are. */
export type ProtectedResource = {
  /** Their address, which every challenge names. */
  url: string;
  /** The path of that address, which the API or the proxy in front of it answers. */
  path: string;
  document: Record<string, unknown>;
};

export type MetadataAnswer = { status: 200 | 204 | 405; headers: Record<string, string>; body: string };

const wellKnown = '/.well-known/oauth-protected-resource';

type MetadataDeps = { issuer: string; audience: readonly string[]; dpop: DpopOptions | undefined };

/** @throws {TypeError} unless the identifier is a URL from which the address follows. */
export function describeResource(
  metadata: ResourceMetadata,
  { issuer, audience, dpop }: MetadataDeps,
): ProtectedResource {
  const urls = audience.filter((one) => isSecureUrl(one));
  const resource = metadata.resource ?? (urls.length === 1 ? urls[0] : undefined);
  if (resource === undefined || !isSecureUrl(resource) || !audience.includes(resource)) {
    throw new TypeError(
      'metadata.resource must be one of the audiences, and a URL: https without a fragment; http only for loopback.',
    );
  }
  const { origin, pathname, search } = new URL(resource);
  // RFC 9728 §3.1: between host and path, less the slash that is all of the path.
  const path = wellKnown + (pathname === '/' ? '' : pathname);
  return {
    url: origin + path + search,
    path,
    document: {
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      ...(dpop && { dpop_signing_alg_values_supported: proofAlgorithms }),
      ...(dpop && { dpop_bound_access_tokens_required: dpop.required ?? false }),
      ...metadata,
      resource,
      ...(metadata.scopes_supported && { scopes_supported: scopesOf(metadata.scopes_supported) }),
    },
  };
}

/**
 * The answer to a request for the metadata. Pages of any origin may read them, as they may those of the issuer (RFC 9728 §3.2 says nothing
 * else, and clients in browsers need it).
 * @returns undefined for a request of another path.
 */
export function answerMetadata(resource: ProtectedResource, method: string, path: string): MetadataAnswer | undefined {
  if (path.replace(/\?.*$/s, '') !== resource.path) return undefined;
  const open = { 'access-control-allow-origin': '*' };
  if (method === 'OPTIONS') {
    const allowed = { 'access-control-allow-methods': 'GET', 'access-control-allow-headers': '*' };
    return { status: 204, headers: { ...open, ...allowed, 'access-control-max-age': '7200' }, body: '' };
  }
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { ...open, allow: 'GET, HEAD' }, body: '' };
  return {
    status: 200,
    headers: { ...open, 'content-type': 'application/json', 'cache-control': 'public, max-age=300' },
    body: method === 'HEAD' ? '' : JSON.stringify(resource.document),
  };
}

type Described = { readonly resource: ProtectedResource | undefined };

/** @throws {TypeError} for a verifier that was made without metadata. */
export function resourceOf({ resource }: Described): ProtectedResource {
  if (!resource) throw new TypeError('createVerifier needs the option metadata for this.');
  return resource;
}

/** For servers that take a `Request`. @returns a function that answers a request for the metadata, and undefined to any other. */
export function protectedResource(verify: Described): (request: Request) => Response | undefined {
  const resource = resourceOf(verify);
  return (request) => {
    const answer = answerMetadata(resource, request.method, new URL(request.url).pathname);
    return answer && new Response(answer.body || null, { status: answer.status, headers: answer.headers });
  };
}
