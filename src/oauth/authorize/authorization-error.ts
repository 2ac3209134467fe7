import type { Failure } from '../../clients/failures.ts';
import { type ErrorCode, statusOf } from '../../platform/errors.ts';
import type { ParsedParameters } from '../../platform/http/parameters.ts';

/** What an authorization response may say in `error` (RFC 6749 §4.1.2.1, OIDC Core §3.1.2.6, RFC 8707 §2). */
type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'interaction_required'
  | 'account_selection_required'
  | 'unmet_authentication_requirements'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported';

/** Why there is no code, once client and redirect_uri are known to be good. It is returned, never thrown: its caller tells the client. */
export class AuthorizationError {
  readonly code: AuthorizationErrorCode;
  readonly description: string;
  /** The part of the request, for the diagnosis that the owner of the client reads. */
  readonly about: 'scope' | 'pkce' | 'resource' | undefined;
  constructor(code: AuthorizationErrorCode, description: string, about?: 'scope' | 'pkce' | 'resource') {
    this.code = code;
    this.description = description;
    this.about = about;
  }
}

export const malformed = (description: string, about?: 'pkce') =>
  new AuthorizationError('invalid_request', description, about);

export const invalidScope = (description: string) => new AuthorizationError('invalid_scope', description, 'scope');

/**
 * OpenID Connect Core Error Code UNMET_AUTHENTICATION_REQUIREMENTS §2.
 * @param requiredBy where the client requires it: the parameter `claims`, or its registration.
 */
export const unmet = (requiredBy: 'claims' | 'default_acr_values') =>
  new AuthorizationError(
    'unmet_authentication_requirements',
    `${requiredBy} requires a value of acr that this sign-in does not reach.`,
  );

/** For an answer that is no redirect: what needs the browser of the user is found out later, and never there. */
export const errorCodeOf = ({ code }: AuthorizationError): ErrorCode =>
  code in statusOf ? (code as ErrorCode) : 'invalid_request';

/** For the owner of the client to read. */
export function failureOf({ about, description }: AuthorizationError, { values, all }: ParsedParameters): Failure {
  if (about === 'scope') return { code: 'invalid_scope', detail: () => ({ sent: values.scope ?? '' }) };
  if (about === 'resource')
    return { code: 'invalid_target', detail: () => ({ sent: all('resource').join(' '), description }) };
  return { code: about ?? 'request', detail: () => ({ description }) };
}
