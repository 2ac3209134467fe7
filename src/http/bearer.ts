import { invalidToken } from '../errors.ts';

/**
 * The access token in an Authorization header (RFC 6750 §2.1).
 * @throws {RequestError} `invalid_token` for another scheme or a token with characters that none has.
 */
export function bearerToken(authorization: string): string {
  const [, token] = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization) ?? [];
  if (token === undefined) throw invalidToken('not a Bearer token');
  return token;
}
