import type { FastifyRequest } from 'fastify';
import { type ErrorCode, invalidClient } from '../errors.ts';
import { formDecode } from './parameters.ts';

/** How a caller authenticates, as the API description shows it. */
export type AccessDescription = {
  /** The name of the security scheme; without one, credentials are optional. */
  readonly scheme?: 'SessionCookie' | 'BearerAuth' | 'DPoPAuth' | 'ClientSecret' | 'ServiceCredential';
  readonly description?: string;
  readonly refusals?: readonly ErrorCode[];
  /** What the caller must have been given. */
  readonly permission?: string;
  /** Other ways to authenticate for the same. */
  readonly alternatives?: readonly AccessDescription[];
};

/** Who may call a route. What `authenticate` resolves to is handed to the route. */
export type Access<Deps, Requester> = AccessDescription & {
  /** @throws {RequestError} one of `refusals`. */
  authenticate(deps: Deps, request: FastifyRequest): Promise<Requester>;
};

/** Of routes that read the credentials themselves. */
export const accessToken: readonly AccessDescription[] = [{ scheme: 'BearerAuth' }, { scheme: 'DPoPAuth' }];
/** RFC 9449 §4: with every token that is bound to a key, and to have one bound. */
export const proofHeader = {
  DPoP: {
    description:
      'A new proof for this request, signed with the key that the token is bound to, or will be (RFC 9449 section 4.2).',
  },
};
export const clientSecret: AccessDescription = { scheme: 'ClientSecret' };
export const serviceCredential = (permission: string): AccessDescription => ({
  scheme: 'ServiceCredential',
  permission,
  description: `A service credential needs the permission \`${permission}\`.`,
});
/** A public client sends only its `client_id`. */
export const noCredentials: AccessDescription = {};

export type BasicCredentials = { client_id: string; client_secret: string };

/** Both halves are form-encoded inside the Base64 (RFC 6749 §2.3.1). @throws {RequestError} `invalid_client`. */
export function readBasic(authorization: string | undefined): BasicCredentials {
  if (authorization === undefined) throw invalidClient('no credentials');
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization) ?? [];
  if (encoded === undefined || authorization.length > 1024) throw invalidClient('not HTTP Basic');
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) throw invalidClient('no colon in HTTP Basic');
  try {
    return { client_id: formDecode(decoded.slice(0, colon)), client_secret: formDecode(decoded.slice(colon + 1)) };
  } catch (cause) {
    throw invalidClient(cause);
  }
}

/**
 * HTTP Basic, or `Bearer SERVICE_ID.SECRET` for programs that have one field for a token.
 * @throws {RequestError} `invalid_client`.
 */
export function readBasicOrToken(authorization: string | undefined): BasicCredentials {
  if (authorization === undefined || !/^bearer\b/i.test(authorization)) return readBasic(authorization);
  const [, client_id, client_secret] = /^bearer +([\w-]{1,100})\.([\w-]{1,200})$/i.exec(authorization) ?? [];
  if (client_id === undefined || client_secret === undefined) throw invalidClient('not SERVICE_ID.SECRET');
  return { client_id, client_secret };
}
