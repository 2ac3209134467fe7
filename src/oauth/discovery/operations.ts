import Type from 'typebox';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { accessToken } from '../../platform/http/access.ts';
import type { OperationDescription } from '../../platform/http/operation-description.ts';

const Address = Type.String({ format: 'uri' });
const Names = Type.Array(Type.String());

/** OpenID Connect Discovery 1.0 §3, RFC 8414 §2, RFC 9207 §3: those of their members that this issuer has. */
const DiscoveryDocument = Type.Object({
  issuer: Type.String({ format: 'uri', description: '`iss` of every token, character for character.' }),
  authorization_endpoint: Address,
  token_endpoint: Address,
  userinfo_endpoint: Address,
  jwks_uri: Type.String({ format: 'uri', description: 'The keys that tokens are verified with.' }),
  introspection_endpoint: Address,
  revocation_endpoint: Address,
  scopes_supported: Names,
  response_types_supported: Names,
  response_modes_supported: Names,
  grant_types_supported: Names,
  subject_types_supported: Names,
  id_token_signing_alg_values_supported: Names,
  token_endpoint_auth_methods_supported: Names,
  introspection_endpoint_auth_methods_supported: Names,
  revocation_endpoint_auth_methods_supported: Names,
  code_challenge_methods_supported: Names,
  claims_supported: Names,
  prompt_values_supported: Names,
  acr_values_supported: Names,
  claims_parameter_supported: Type.Boolean(),
  request_parameter_supported: Type.Boolean(),
  request_uri_parameter_supported: Type.Boolean(),
  authorization_response_iss_parameter_supported: Type.Boolean({ description: 'Answers carry `iss` (RFC 9207).' }),
});

export const readDiscovery: OperationDescription = {
  tag: 'OIDC',
  summary: 'What this issuer can do, and where',
  description: 'OpenID Connect Discovery 1.0 and RFC 8414. May be kept for five minutes.',
  answers: { 200: { description: 'The discovery document.', schema: DiscoveryDocument } },
};

export const readUserinfo: OperationDescription = {
  tag: 'OIDC',
  summary: 'What the scope of an access token tells about its person, as it is now',
  access: [accessToken],
  answers: {
    200: {
      description: '`sub` always; the rest by scope.',
      schema: Type.Object({
        sub: Type.String(),
        email: Type.Optional(Type.String({ description: 'Scope `email`.' })),
        email_verified: Type.Optional(Type.Boolean({ description: 'Scope `email`.' })),
        name: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        picture: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        role: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
        entitlements: Type.Optional(Type.Array(Entitlement, { description: 'Scope `entitlements:read`.' })),
      }),
    },
  },
  refusals: ['invalid_request', 'invalid_token', 'insufficient_scope'],
};
