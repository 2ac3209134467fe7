import type { AttributeRegister } from '../../attributes/register.ts';
import { acrs } from '../../authentication/sessions/authentication.ts';
import { signingAlgorithms } from '../../clients/choices.ts';
import { clientAlgorithms } from '../../clients/keys/public-key.ts';
import { advertisedScopes } from '../../clients/scopes.ts';
import { prompts } from '../authorize/parameters.ts';
import { responseModes } from '../authorize/response-mode.ts';
import { methodsAt } from '../client-authentication/methods.ts';
import type { Deps } from '../deps.ts';
import { grantTypeNames } from '../token/grant-types.ts';
import { Userinfo } from './userinfo.ts';

const idTokenClaims = 'iss sub aud azp exp iat auth_time nonce at_hash sid acr amr'.split(' ');

/** RFC 8414, RFC 9207 §3 and OpenID Connect Discovery 1.0 §3 in one document: exactly what works here. */
export function discoveryDocument(
  { config: { baseUrl, clientIdMetadata, dynamicRegistration } }: Pick<Deps, 'config'>,
  { all }: Pick<AttributeRegister, 'all'>,
) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    userinfo_endpoint: `${baseUrl}/oauth/userinfo`,
    jwks_uri: `${baseUrl}/.well-known/jwks.json`,
    introspection_endpoint: `${baseUrl}/oauth/introspect`,
    pushed_authorization_request_endpoint: `${baseUrl}/oauth/par`,
    require_pushed_authorization_requests: false,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    end_session_endpoint: `${baseUrl}/oauth/logout`,
    scopes_supported: advertisedScopes,
    response_types_supported: ['code'],
    response_modes_supported: responseModes,
    grant_types_supported: grantTypeNames,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: signingAlgorithms,
    token_endpoint_auth_methods_supported: methodsAt.token,
    token_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    introspection_endpoint_auth_methods_supported: methodsAt.introspection,
    introspection_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    revocation_endpoint_auth_methods_supported: methodsAt.revocation,
    revocation_endpoint_auth_signing_alg_values_supported: clientAlgorithms,
    code_challenge_methods_supported: ['S256'],
    claims_supported: [
      ...new Set([...idTokenClaims, ...Object.keys(Userinfo.properties), ...all.map(({ name }) => name)]),
    ],
    prompt_values_supported: prompts,
    acr_values_supported: acrs,
    dpop_signing_alg_values_supported: clientAlgorithms,
    claims_parameter_supported: true,
    request_object_signing_alg_values_supported: clientAlgorithms,
    require_signed_request_object: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    authorization_response_iss_parameter_supported: true,
    ...(dynamicRegistration && { registration_endpoint: `${baseUrl}/oauth/register` }),
    ...(clientIdMetadata && { client_id_metadata_document_supported: true }),
  };
}
