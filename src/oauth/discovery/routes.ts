import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { accessToken, bearerToken, isBearer } from '../../platform/http/access.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { publicDocument, sendPublicDocument } from '../../platform/http/representations.ts';
import type { Deps } from '../deps.ts';
import { discoveryDocument } from './discovery.ts';
import { userinfo } from './userinfo.ts';

/** What relying parties read: discovery, the key set, userinfo. */
export async function discoveryRoutes(app: FastifyInstance, deps: Deps) {
  const discovery = publicDocument(discoveryDocument(deps.config));
  for (const [path, operation] of [
    ['/.well-known/openid-configuration', readDiscovery],
    ['/.well-known/oauth-authorization-server', { ...readDiscovery, id: 'readServerMetadata' }],
  ] as const) {
    app.get(path, { config: { operation } }, async (request, reply) => sendPublicDocument(request, reply, discovery));
  }

  // From memory alone, cacheable for five minutes (specification 4.2).
  app.get('/.well-known/jwks.json', { config: { operation: readKeySet } }, async (request, reply) =>
    sendPublicDocument(request, reply, deps.keys.published),
  );

  // OIDC Core §5.3.1 wants both methods.
  app.get('/oauth/userinfo', { config: { operation: readUserinfo } }, (request, reply) =>
    answer(request, reply, undefined),
  );
  const posted = { ...readUserinfo, id: 'readUserinfoByPost' };
  app.post('/oauth/userinfo', { config: { anySite: true, operation: posted } }, (request, reply) =>
    answer(request, reply, request.body == null ? undefined : readForm(request.body).access_token),
  );

  async function answer(request: FastifyRequest, reply: FastifyReply, formToken: string | undefined) {
    const token = accessTokenOf(request.headers.authorization, formToken);
    if (token !== undefined) return userinfo(deps, token);
    // A request without credentials gets a challenge without an error code (RFC 6750 §3.1).
    return reply
      .code(401)
      .header('www-authenticate', 'Bearer')
      .send({ error: 'invalid_token', error_description: 'An access token is required.' });
  }
}

/** From the header or the form body, never both and never the URL (OAuth 2.1 §5.1). */
function accessTokenOf(authorization: string | undefined, formToken: string | undefined): string | undefined {
  if (!isBearer(authorization)) return formToken;
  if (formToken !== undefined) throw invalidRequest('The access token was sent twice. Use only one method.');
  return bearerToken(authorization);
}

const Address = Type.String({ format: 'uri' });
const Names = Type.Array(Type.String());

const readDiscovery: OperationDescription = {
  id: 'readDiscovery',
  tag: 'OIDC',
  summary: 'Read the discovery document',
  description: 'OpenID Connect Discovery 1.0 and RFC 8414. May be cached for five minutes.',
  answers: {
    200: {
      description: 'The discovery document.',
      schema: Type.Object({
        issuer: Type.String({ format: 'uri', description: '`iss` of every token, character for character.' }),
        authorization_endpoint: Address,
        token_endpoint: Address,
        userinfo_endpoint: Address,
        jwks_uri: Type.String({ format: 'uri', description: 'URL of the keys that verify tokens.' }),
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
        authorization_response_iss_parameter_supported: Type.Boolean({
          description: 'Authorization responses contain `iss` (RFC 9207).',
        }),
      }),
    },
  },
};

const readKeySet: OperationDescription = {
  id: 'readKeySet',
  tag: 'OIDC',
  summary: 'Read the public keys that tokens are verified with',
  description: 'The active key of each algorithm, the next one and, for 65 minutes after a rotation, the previous one.',
  answers: {
    200: { description: 'A JSON Web Key Set (RFC 7517).', schema: Type.Object({ keys: Type.Array(Type.Object({})) }) },
  },
};

const readUserinfo: OperationDescription = {
  id: 'readUserinfo',
  tag: 'OIDC',
  summary: 'Read the claims that the scope of an access token allows, as they are now',
  access: [accessToken],
  answers: {
    200: {
      description: 'The current values: always `sub`, the others depending on the scope.',
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
