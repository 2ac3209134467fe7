import type { FastifyInstance } from 'fastify';
import {
  authenticateService,
  isServiceAuthorization,
} from '../../entitlements/service-credentials/authenticate-service.ts';
import { accessDenied, invalidClient, invalidRequest } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import type { Deps } from '../deps.ts';
import { identifyClient, type Presented } from '../token/client-authentication.ts';
import { introspect } from '../token/operations.ts';
import { type Caller, introspectToken } from './introspect-token.ts';

/** RFC 7662. The caller authenticates, or anybody could scan for tokens (§4). */
export async function introspectionRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/introspect', { config: { anySite: true, operation: introspect } }, async (request) => {
    const { authorization } = request.headers;
    if (authorization === undefined) throw invalidClient('no credentials');
    const form = readForm(request.body);
    const caller = await callerOf(deps, { authorization, form, address: request.ip });
    if (!form.token) throw invalidRequest('token is missing.');
    return introspectToken(deps, caller, form.token);
  });
}

/** A service with `tokens:introspect` sees every token; an approved confidential client its own (decisions §8). */
async function callerOf(deps: Deps, presented: Presented & { authorization: string }): Promise<Caller> {
  if (isServiceAuthorization(presented.authorization)) {
    await authenticateService(deps, presented, 'tokens:introspect');
    return { sees: 'all' };
  }
  const client = await identifyClient(deps, presented);
  if (client.client_type === 'public') throw invalidClient('a public client cannot introspect');
  if (client.status !== 'approved') throw accessDenied('Only an approved client may introspect tokens.');
  return { sees: client.client_id };
}
