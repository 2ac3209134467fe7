import { type FetchJson, isObject } from './fetch-json.ts';
import { type Kept, keep } from './kept.ts';

/** What is used of the issuer's metadata (RFC 8414 §2). */
export type Metadata = { jwks_uri: string; introspection_endpoint: string | undefined };

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** https, or http on loopback; without a fragment or credentials. */
export function isSecureUrl(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username } = new URL(address);
  const isSecure = protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname));
  return isSecure && username === '' && !address.includes('#');
}

/**
 * Signet's issuer is an origin. With a slash more it would equal no `iss`, and every token would be answered with 503.
 * @throws {TypeError} unless it may be one: https, or http on loopback.
 */
export function assertIssuer(issuer: string): void {
  if (!isSecureUrl(issuer) || new URL(issuer).origin !== issuer) {
    throw new TypeError(
      'issuer must be an origin such as https://id.example.com, without a slash at its end; http only for loopback.',
    );
  }
}

type IssuerDeps = { issuer: string; fetchJson: FetchJson; now: () => number };

export const keepMetadata = ({ issuer, fetchJson, now }: IssuerDeps): Kept<Metadata> =>
  keep({
    now,
    cooldownSeconds: 30,
    maxStaleSeconds: Number.POSITIVE_INFINITY, // addresses; what they answer has limits of its own
    load: async () => {
      const { json } = await fetchJson(`${issuer}/.well-known/openid-configuration`);
      return { value: readMetadata(json, issuer), seconds: 600 };
    },
  });

function readMetadata(json: unknown, issuer: string): Metadata {
  // RFC 8414 §3.3: otherwise one issuer could pass for another.
  if (!isObject(json) || json.issuer !== issuer) throw new Error('The metadata is that of another issuer.');
  const { jwks_uri, introspection_endpoint } = json;
  if (!isOn(issuer, jwks_uri)) throw new Error('The metadata has no jwks_uri on the origin of the issuer.');
  return {
    jwks_uri,
    introspection_endpoint: isOn(issuer, introspection_endpoint) ? introspection_endpoint : undefined,
  };
}

/** Signet serves everything on its own origin, and that is where credentials may be sent. */
const isOn = (issuer: string, address: unknown): address is string =>
  typeof address === 'string' && URL.canParse(address) && new URL(address).origin === new URL(issuer).origin;
