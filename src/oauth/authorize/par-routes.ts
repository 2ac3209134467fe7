import type { FastifyInstance } from 'fastify';
import { isMetadataUrl } from '../../clients/metadata-url.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { proofHeader } from '../../platform/http/access.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { FormText, parseParameters } from '../../platform/http/parameters.ts';
import { Type } from '../../platform/schema.ts';
import { authenticateClient } from '../client-authentication/authenticate-client.ts';
import { accessAt, authenticationInWords, credentialParametersAt } from '../client-authentication/methods.ts';
import { presentedBy } from '../client-authentication/presented-by.ts';
import type { Deps } from '../deps.ts';
import { findProofKey } from '../dpop/proven-by.ts';
import { findOrDiscover } from './authorize-client.ts';
import { describedParameters } from './parameters.ts';
import { noting, pushedSeconds, pushRequest, takePush } from './push-request.ts';

/** The pushed authorization request endpoint (RFC 9126). */
export async function pushedRequestRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/par', { config: { anySite: true, cors: true, operation: push } }, async (request, reply) => {
    if (request.url.includes('?')) throw invalidRequest('Send parameters in the body, not in the URL.');
    if (!(request.body instanceof FormText))
      throw invalidRequest('The body must be application/x-www-form-urlencoded.');
    const presented = presentedBy(request, credentialNames);
    const { client_id = '' } = presented.form;
    // By its document a client becomes known here as well, and is refused until it is approved.
    if (isMetadataUrl(client_id)) await findOrDiscover(deps, client_id, request.ip);
    const client = await authenticateClient(deps, presented, 'pushed_authorization_request');
    const place = { client_id: client.client_id, stage: 'authorize', address: request.ip } as const;
    await takePush(deps, client, request.ip);
    const jkt = await noting(deps, place, findProofKey(deps, request));
    const parsed = parseParameters(request.body.text);
    return reply.code(201).send(await pushRequest(deps, { client, parsed, address: request.ip, jkt }));
  });
}

const credentialParameters = credentialParametersAt('pushed_authorization_request');
const credentialNames = ['client_id', ...Object.keys(credentialParameters)];

const push: OperationDescription = {
  id: 'pushAuthorizationRequest',
  tag: 'OIDC',
  summary: 'Push an authorization request (RFC 9126)',
  description:
    'The parameters of an authorization request, checked as there, or a signed `request` object that has them (RFC 9101). The answer has the ' +
    `\`request_uri\` with which the browser is sent to \`/oauth/authorize\`, beside \`client_id\` alone. ${authenticationInWords('pushed_authorization_request')}`,
  access: accessAt('pushed_authorization_request'),
  headers: proofHeader,
  body: {
    form: true,
    schema: form({
      ...credentialParameters,
      request: Type.Optional(
        Type.String({
          description:
            'A JWT with all parameters, signed with a registered key of the client; other parameters are ignored.',
        }),
      ),
      ...Object.fromEntries(
        Object.entries(describedParameters).map(([name, { description, schema }]) => [
          name,
          Type.Optional({ ...schema, description }),
        ]),
      ),
    }),
  },
  answers: {
    201: {
      description: `Good for ${pushedSeconds} seconds, for this client, and for one code.`,
      schema: Type.Object({ request_uri: Type.String(), expires_in: Type.Integer({ minimum: 1 }) }),
    },
  },
  refusals: [
    'invalid_request',
    'invalid_request_object',
    'invalid_dpop_proof',
    'use_dpop_nonce',
    'invalid_scope',
    'invalid_target',
    'unsupported_response_type',
    'request_uri_not_supported',
    'registration_not_supported',
    'unmet_authentication_requirements',
    'invalid_client',
    'rate_limited',
  ],
};
