/** What an authorization response may say in `error` (RFC 6749 §4.1.2.1, OIDC Core §3.1.2.6). */
type AuthorizationErrorCode =
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
  /** Which part of the request it is about, where the owner of the client is told more than the client. */
  readonly about: 'scope' | 'pkce' | undefined;
  constructor(code: AuthorizationErrorCode, description: string, about?: 'scope' | 'pkce') {
    super(description);
    this.code = code;
    this.about = about;
  }
}
