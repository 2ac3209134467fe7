import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { accessDenied, invalidClient, invalidRequest } from '../../errors.ts';
import { readForm } from '../../http/parameters.ts';
import { identifyClient } from '../client-authentication.ts';
import { introspect } from '../operations.ts';
import { introspectToken } from './introspect-token.ts';

/** RFC 7662. The caller authenticates, or anybody could scan for tokens (§4). */
export async function introspectionRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/introspect', { config: { anySite: true, operation: introspect } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { authorization } = request.headers;
    if (authorization === undefined) throw invalidClient('no credentials');
    const form = readForm(request.body);
    const caller = await identifyClient(deps, { authorization, form, address: request.ip });
    if (caller.client_type === 'public') throw invalidClient('a public client cannot introspect');
    if (caller.status !== 'approved') throw accessDenied('Only an approved client may introspect tokens.');
    if (!form.token) throw invalidRequest('token is missing.');
    return introspectToken(deps, caller, form.token);
  });
}
