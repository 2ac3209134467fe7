const statuses = {
  invalid_request: 400,
  missing_token: 401,
  invalid_token: 401,
  invalid_dpop_proof: 401,
  insufficient_user_authentication: 401,
  insufficient_scope: 403,
  unavailable: 503,
} as const;

/**
 * - `invalid_request`: the Authorization header is malformed, or there are several.
 * - `missing_token`: there is no access token.
 * - `invalid_token`: it is not an access token for this API, or it has expired or been revoked.
 * - `invalid_dpop_proof`: the token is bound to a key, and the proof of that key is missing, wrong, old or used (RFC 9449 §7.1).
 * - `insufficient_user_authentication`: the user has to sign in again, or better (RFC 9470 §3).
 * - `insufficient_scope`: it is valid, and lacks a scope that was required.
 * - `unavailable`: the issuer could not be asked for its keys or about the token, or the store of proofs failed; `cause` says why.
 */
export type TokenErrorCode = keyof typeof statuses;

/** @param challenge the `WWW-Authenticate` header. */
type Details = { description: string; challenge: string; cause?: unknown };

/** Why a request is refused, and how to answer it. No member contains anything that the requester sent. */
export class TokenError extends Error {
  readonly code: TokenErrorCode;
  /** Of the HTTP response. */
  readonly status: 400 | 401 | 403 | 503;
  /** The `WWW-Authenticate` header (RFC 6750 §3); undefined for `unavailable`. */
  readonly wwwAuthenticate: string | undefined;

  constructor(code: TokenErrorCode, { description, challenge, cause }: Details) {
    super(description, cause === undefined ? undefined : { cause });
    this.name = 'TokenError';
    this.code = code;
    this.status = statuses[code];
    this.wwwAuthenticate = code === 'unavailable' ? undefined : challenge;
  }

  /** All headers of the response: the challenge, and `no-store`. */
  get headers(): Record<string, string> {
    return {
      'cache-control': 'no-store',
      ...(this.wwwAuthenticate === undefined ? { 'retry-after': '5' } : { 'www-authenticate': this.wwwAuthenticate }),
    };
  }

  /** The JSON body of the response. */
  get body(): { error: TokenErrorCode; error_description: string } {
    return { error: this.code, error_description: this.message };
  }
}
