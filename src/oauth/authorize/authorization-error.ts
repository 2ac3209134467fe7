/** What an authorization response may say in `error` (RFC 6749 §4.1.2.1, OIDC Core §3.1.2.6). */
export type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'account_selection_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported';

/** Thrown once client and redirect_uri are known to be good: the refusal travels to the client by redirect. */
export class AuthorizationError extends Error {
  override name = 'AuthorizationError';
  readonly code: AuthorizationErrorCode;
  constructor(code: AuthorizationErrorCode, description: string) {
    super(description);
    this.code = code;
  }
}
