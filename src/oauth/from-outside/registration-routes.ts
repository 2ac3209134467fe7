import type { FastifyInstance } from 'fastify';
import { signingAlgorithms } from '../../clients/choices.ts';
import { linkFields } from '../../clients/fields.ts';
import { standardNameOf } from '../../clients/from-outside/read-metadata.ts';
import { metadataOf, registerDynamically } from '../../clients/from-outside/register-dynamically.ts';
import { type OperationDescription, Time } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';

/** Dynamic client registration (RFC 7591), where the operator allows it. There is no endpoint to change what was registered (RFC 7592). */
export async function registrationRoutes(app: FastifyInstance, deps: Deps) {
  if (!deps.config.dynamicRegistration) return;
  app.post('/oauth/register', { config: { anySite: true, cors: true, operation: register } }, async (request, reply) =>
    reply.code(201).send(metadataOf(await registerDynamically(deps, request.body, request.ip))),
  );
}

const texts = (description: string) => Type.Array(Type.String(), { description });
const text = (description: string) => Type.Optional(Type.String({ description }));

const links = Object.fromEntries(
  linkFields.map((field) => [standardNameOf(field), text('HTTPS. A link that cannot be shown is left out.')]),
);
const keys = {
  jwks: Type.Optional(Type.Object({}, { description: 'Public keys, for `private_key_jwt`.' })),
  jwks_uri: text('Where they are published. HTTPS.'),
};
const algorithm = Type.Enum([...signingAlgorithms], { description: 'How its tokens are signed.' });

const register: OperationDescription = {
  id: 'registerDynamically',
  tag: 'OIDC',
  summary: 'Register a client (RFC 7591)',
  description:
    'The client waits until an administrator has approved it. It gets no secret: it is public, or authenticates by keys of its own. ' +
    'Members that are not known are ignored, and values that cannot be are replaced: the answer says what was registered. What is not ' +
    'reviewed within seven days is deleted.',
  body: {
    schema: Type.Object({
      redirect_uris: texts('HTTPS; HTTP on loopback; or a private-use scheme of an app on a device.'),
      client_name: text('Shown to users, as the word of the client. Default: the host of the first redirect URI.'),
      application_type: text('`native` or `web`. Default: `native` for redirect URIs on the device.'),
      token_endpoint_auth_method: text('`none` or `private_key_jwt`. Any method with a secret becomes `none`.'),
      grant_types: Type.Optional(texts('With `refresh_token`, the scope `offline_access` is requested, too.')),
      response_types: Type.Optional(texts('Must contain `code`.')),
      scope: text('Scopes that do not exist are left out. Default: `openid profile email`.'),
      id_token_signed_response_alg: Type.Optional(algorithm),
      ...links,
      ...keys,
    }),
    example: {
      client_name: 'Notes',
      redirect_uris: ['http://localhost/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
  },
  answers: {
    201: {
      description: 'The client as it was registered.',
      schema: Type.Object({
        client_id: Type.String({ description: 'For authorization requests, once it is approved.' }),
        client_id_issued_at: Time,
        client_name: Type.String({ description: 'As users read it.' }),
        redirect_uris: texts('As they were registered.'),
        application_type: Type.String({ description: '`native` or `web`.' }),
        token_endpoint_auth_method: Type.String({ description: '`none` or `private_key_jwt`.' }),
        grant_types: texts('Those of the requested ones that there are.'),
        response_types: texts('`code`.'),
        scope: Type.String({ description: 'What it may ask for, unless its reviewer allows less or more.' }),
        id_token_signed_response_alg: algorithm,
        ...links,
        ...keys,
      }),
    },
  },
  refusals: ['invalid_redirect_uri', 'invalid_client_metadata', 'invalid_request', 'rate_limited'],
};
