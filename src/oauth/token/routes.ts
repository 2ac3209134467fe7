import type { FastifyInstance } from 'fastify';
import { type Failure, FailureCause } from '../../clients/failures.ts';
import { invalidRequest, RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import type { Deps } from '../deps.ts';
import { authorizationCodeGrant } from './authorization-code-grant.ts';
import { authenticateClient } from './client-authentication.ts';
import type { TokenRequest, TokenResponse } from './issue-tokens.ts';
import { token } from './operations.ts';
import { refreshTokenGrant } from './refresh-token-grant.ts';

/** RFC 6749 §3.2, OAuth 2.1 §3.2. */
export async function tokenRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/token', { config: { anySite: true, operation: token } }, async (request, reply) => {
    reply.header('pragma', 'no-cache'); // RFC 6749 §5.1
    if (request.url.includes('?')) throw invalidRequest('Parameters belong in the body, not in the URL.');
    const form = readForm(request.body);
    const address = request.ip;
    if (form.grant_type === undefined) throw invalidRequest('grant_type is missing.');
    const client = await authenticateClient(deps, { authorization: request.headers.authorization, form, address });
    try {
      return await grantTokens(deps, { client, form, address });
    } catch (error) {
      if (error instanceof RequestError && error.status < 500) {
        deps.clientFailures.record({ client_id: client.client_id, stage: 'token' }, failureOf(error, form.scope));
      }
      throw error;
    }
  });
}

function grantTokens(deps: Deps, request: TokenRequest): Promise<TokenResponse> {
  switch (request.form.grant_type) {
    case 'authorization_code':
      return authorizationCodeGrant(deps, request);
    case 'refresh_token':
      return refreshTokenGrant(deps, request);
    default:
      throw new RequestError('unsupported_grant_type', 'Only authorization_code and refresh_token are supported.');
  }
}

function failureOf({ code, cause, message }: RequestError, scope: string | undefined): Failure {
  if (cause instanceof FailureCause) return cause.failure;
  if (code === 'invalid_scope') return { code, detail: () => ({ sent: scope ?? '' }) };
  return { code: 'request', detail: () => ({ description: message }) };
}
