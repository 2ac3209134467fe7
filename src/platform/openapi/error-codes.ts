import type { ErrorCode } from '../errors.ts';

/** When each refusal comes, as the API description says it. */
export const conditions: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'Something is missing or malformed; on /v1 `fields` says what is wrong with which member.',
  invalid_grant:
    'The code or refresh token is unknown, expired, used or revoked, or belongs to another client, redirect URI or code verifier.',
  invalid_scope: 'Nothing of the requested scope is allowed, or the parameter is malformed.',
  invalid_redirect_uri: 'A redirect URI cannot be registered (RFC 7591).',
  invalid_client_metadata:
    'A member of the metadata is malformed, or has a value that cannot be registered (RFC 7591).',
  unsupported_grant_type: 'Another grant type than `authorization_code` and `refresh_token`.',
  unauthorized_client: 'The client is not approved.',
  invalid_code: 'The code of the authenticator app is wrong or was used already.',
  invalid_client:
    'Credentials are missing or wrong, of the wrong kind (client or service), or of a client that is not approved.',
  invalid_dpop_proof:
    'The proof in the header `DPoP` is missing, used before, or not about this request, token or key (RFC 9449).',
  use_dpop_nonce:
    'The clock of the proof is wrong: send a new proof with the nonce in the header `DPoP-Nonce` (RFC 9449 section 8).',
  invalid_request_object:
    'The request object is not signed by the client as RFC 9101 says, or not for this server or moment.',
  unsupported_response_type: 'The only supported `response_type` is `code`.',
  unmet_authentication_requirements: 'No sign-in here reaches a class that `claims` requires.',
  request_not_supported: 'Request objects are taken at the pushed endpoint alone.',
  request_uri_not_supported: 'The only `request_uri` that is taken is that of a pushed request.',
  registration_not_supported: 'The parameter `registration` is not supported.',
  invalid_target: 'No API of this client, or of this grant, has the identifier in `resource` (RFC 8707).',
  invalid_token: 'The access token is missing, expired, revoked or not one of ours.',
  login_required: 'There is no session, or it has ended.',
  access_denied: 'The caller is known and may not do this: role, permission or product is missing.',
  insufficient_scope: 'The access token lacks the scope that is needed.',
  reauthentication_required:
    'The sign-in is older than `max_age` seconds, or lacks the second factor that `acr_values` names.',
  not_found: 'Unknown, or of somebody else.',
  unknown_user: 'There is no account with this `user_id`.',
  method_not_allowed: 'Another method; `Allow` names those that there are.',
  request_timeout: 'The request took too long to arrive.',
  invalid_state: 'The state in which it is, `current_status`, does not allow this.',
  stale_revision: 'It was changed since it was read: `stored_revision` is the revision by now.',
  stale_version: '`version` is not higher than `stored_version`, the one that is stored.',
  content_too_large: 'The body is larger than 64 KB, unless the operator has set another limit.',
  uri_too_long: 'The URL is longer than 8192 bytes.',
  unsupported_media_type: 'The body is compressed.',
  rate_limited: 'Too many attempts. `Retry-After` says after how many seconds to try again.',
  headers_too_large: 'The headers are too large.',
  server_error: 'An unexpected error, which was logged under the ID in `X-Request-Id`.',
  upstream_failed: 'Another server, such as an identity provider, failed.',
  temporarily_unavailable: 'The store cannot be reached or is overloaded. `Retry-After` says when to try again.',
};

/** What the body has besides `error` and `error_description`, with an example. */
export const errorMembers: Partial<Record<ErrorCode, Readonly<Record<string, unknown>>>> = {
  invalid_request: { fields: [{ path: 'name', message: 'Is required.' }] },
  invalid_state: { current_status: 'suspended' },
  stale_revision: { stored_revision: 3 },
  stale_version: { stored_version: 7 },
  reauthentication_required: { max_age: 900, acr_values: 'urn:signet:acr:2fa' },
};

export const errorExample = (code: ErrorCode) => ({
  error: code,
  error_description: conditions[code].replaceAll('`', ''),
  ...errorMembers[code],
});
