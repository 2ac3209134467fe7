import type { FastifyInstance, FastifyRequest } from 'fastify';
import { authenticateService } from '../../entitlements/service-credentials/authenticate-service.ts';
import { isCredentialId } from '../../entitlements/service-credentials/service-credential.ts';
import { accessDenied, invalidRequest, RequestError } from '../../platform/errors.ts';
import { proofHeader, serviceCredential } from '../../platform/http/access.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { readAll } from '../../platform/http/parameters.ts';
import { counter } from '../../platform/metrics.ts';
import { Type } from '../../platform/schema.ts';
import {
  authenticateClient,
  identifyClient,
  presentsCredentials,
  requirePresented,
} from '../client-authentication/authenticate-client.ts';
import type { ClientRequest } from '../client-authentication/method.ts';
import {
  accessAt,
  authenticationInWords,
  credentialParameters,
  credentialParametersAt,
} from '../client-authentication/methods.ts';
import { presentedBy } from '../client-authentication/presented-by.ts';
import type { Deps } from '../deps.ts';
import { invalidProof, needsProof } from '../dpop/proof.ts';
import { findProofKey } from '../dpop/proven-by.ts';
import { AccessTokenClaims, tokenTypes } from './access-token.ts';
import { grantTypeNames, redeem, tokenForm, tokenParameters } from './grant-types.ts';
import { introspectToken, type Visibility } from './introspect-token.ts';
import { revokeToken } from './revoke-token.ts';
import { diagnose } from './token-refusal.ts';
import { TokenResponse } from './token-request.ts';

/** The endpoints where clients present their credentials. */
export async function tokenRoutes(app: FastifyInstance, deps: Deps) {
  // RFC 6749 §3.2, OAuth 2.1 §3.2
  app.post('/oauth/token', { config: { anySite: true, cors: true, operation: issue } }, async (request, reply) => {
    reply.header('pragma', 'no-cache'); // RFC 6749 §5.1
    if (request.url.includes('?')) throw invalidRequest('Send parameters in the body, not in the URL.');
    const presented = presentedBy(request, tokenParameters);
    const { grant_type } = presented.form;
    if (grant_type === undefined) throw invalidRequest('grant_type is missing.');
    return counted(grant_type, () => tokensFor(presented, request));
  });

  async function tokensFor(presented: ClientRequest, request: FastifyRequest): Promise<TokenResponse> {
    const client = await authenticateClient(deps, presented, 'token');
    try {
      const jkt = await findProofKey(deps, request);
      if (jkt === undefined && needsProof(client))
        throw invalidProof('The tokens of this client are bound to a key: send a proof in the header DPoP.');
      return await redeem(deps, { client, resource: readAll(request.body, 'resource'), jkt, ...presented });
    } catch (error) {
      if (error instanceof RequestError && error.status < 500) {
        const { client_id } = client;
        const { address } = presented;
        deps.clientFailures.record({ client_id, stage: 'token', address }, diagnose(error));
        // Each proof is a row for minutes, and for a public client anyone can make them.
        const hasUsedProof = request.headers.dpop !== undefined && !ofProof.includes(error.code);
        if (hasUsedProof && client.client_type === 'public') await deps.clientSecretLimits.failed(client_id, address);
      }
      throw error;
    }
  }

  // RFC 7662. Callers authenticate, since anyone could scan for tokens otherwise (§4).
  app.post('/oauth/introspect', { config: { anySite: true, operation: introspect } }, async (request) => {
    const presented = presentedBy(request, aboutTokenParameters);
    const visibility = await visibilityFor(deps, presented);
    if (!presented.form.token) throw invalidRequest('token is missing.');
    return introspectToken(deps, visibility, presented.form.token);
  });

  // RFC 7009: an empty 200 whether there was something to revoke or not.
  app.post('/oauth/revoke', { config: { anySite: true, cors: true, operation: revoke } }, async (request, reply) => {
    const presented = presentedBy(request, aboutTokenParameters);
    const client = presentsCredentials(presented) ? await authenticateClient(deps, presented, 'revocation') : undefined;
    const { form, address } = presented;
    if (!form.token) throw invalidRequest('token is missing.');
    await revokeToken(deps, form.token, { client, client_id: client?.client_id ?? form.client_id, address });
    return reply.send();
  });
}

/** Of a proof that was not accepted, which is no row. */
const ofProof: readonly string[] = ['invalid_dpop_proof', 'use_dpop_nonce'];

const tokenRequests = counter(
  'signet_token_requests_total',
  'Requests for tokens by grant type and outcome: issued, or the code of the error.',
  'grant_type',
  'outcome',
);

async function counted<Result>(grant_type: string, run: () => Promise<Result>): Promise<Result> {
  const type = grantTypeNames.includes(grant_type) ? grant_type : 'other';
  try {
    const issued = await run();
    tokenRequests.count(type, 'issued');
    return issued;
  } catch (error) {
    tokenRequests.count(type, error instanceof RequestError ? error.code : 'server_error');
    throw error;
  }
}

/** A service with `tokens:introspect` sees all tokens, or those of its API; an approved client that can prove itself its own (decisions §8). */
async function visibilityFor(deps: Deps, request: ClientRequest): Promise<Visibility> {
  const presented = requirePresented(request, 'introspection');
  const { client_id, proof: client_secret = '' } = presented;
  if (isCredentialId(client_id)) {
    const caller = { client_id, client_secret, address: request.address };
    const { api_id } = await authenticateService(deps, caller, 'tokens:introspect');
    return { sees: api_id === null ? 'all' : { api_id } };
  }
  const { client } = await identifyClient(deps, request, 'introspection', presented);
  if (client.status !== 'approved') throw accessDenied('Only an approved client may introspect tokens.');
  return { sees: client.client_id };
}

const issue: OperationDescription = {
  id: 'issueTokens',
  tag: 'OIDC',
  summary: 'Redeem an authorization code or a refresh token',
  description: `${authenticationInWords('token')} Parameters in the URL are refused. A proof in the header \`DPoP\` binds the access token to its key, and for a public client the refresh token (RFC 9449 section 5).`,
  access: accessAt('token'),
  headers: proofHeader,
  body: { form: true, schema: tokenForm },
  answers: {
    200: { description: 'The tokens. An access token is good for an hour.', schema: TokenResponse },
  },
  refusals: [
    'invalid_grant',
    'invalid_scope',
    'invalid_target',
    'invalid_dpop_proof',
    'use_dpop_nonce',
    'unsupported_grant_type',
    'invalid_client',
    'rate_limited',
  ],
};

const aboutToken = {
  token: Type.String({ minLength: 1, description: 'An access token or a refresh token.' }),
  token_type_hint: Type.Optional(Type.String({ description: 'Optional and ignored.' })),
};

const aboutTokenParameters = Object.keys({ ...aboutToken, ...credentialParameters });

const TokenClaims = Type.Object({
  ...AccessTokenClaims.properties,
  token_type: Type.Enum([...tokenTypes, 'refresh_token']),
});

const introspect: OperationDescription = {
  id: 'introspectToken',
  tag: 'OIDC',
  summary: 'Introspect a token (RFC 7662)',
  description: `${authenticationInWords('introspection')} An approved client sees its own tokens; for it those of other clients are not active. A service credential sees all, or, if it belongs to an API, the access tokens for that API.`,
  access: [...accessAt('introspection'), serviceCredential('tokens:introspect')],
  body: { form: true, schema: form({ ...aboutToken, ...credentialParametersAt('introspection') }) },
  answers: {
    200: {
      description: 'For any token that is not active, exactly `{"active":false}`.',
      schema: Type.Object({ active: Type.Boolean(), ...Type.Partial(TokenClaims).properties }),
    },
  },
  refusals: ['invalid_client', 'access_denied', 'rate_limited'],
};

const revoke: OperationDescription = {
  id: 'revokeToken',
  tag: 'OIDC',
  summary: 'Revoke a token (RFC 7009)',
  description: `A refresh token revokes its whole grant. ${authenticationInWords('revocation')} Possession is enough for a public client.`,
  access: accessAt('revocation'),
  body: { form: true, schema: form({ ...aboutToken, ...credentialParameters }) },
  answers: { 200: { description: 'The token is revoked, or was not active.' } },
  refusals: ['invalid_client', 'rate_limited'],
};
