import { invalidToken } from '../errors.ts';

/**
 * Whether an Authorization header is meant for an endpoint that takes access tokens. Another scheme (Basic of a proxy on
 * the way, which browsers then send everywhere) says nothing about a token and is as good as no header.
 */
export const isBearer = (authorization: string | undefined): authorization is string =>
  authorization !== undefined && /^bearer(?: |$)/i.test(authorization);

/**
 * The access token in an Authorization header (RFC 6750 §2.1).
 * @throws {RequestError} `invalid_token` for another scheme or a token with characters that none has.
 */
export function bearerToken(authorization: string): string {
  const [, token] = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? [];
  if (token === undefined) throw invalidToken('not a Bearer token');
  return token;
}
