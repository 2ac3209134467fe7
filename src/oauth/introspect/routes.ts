import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { invalidClient, invalidRequest } from '../../errors.ts';
import { readForm } from '../../http/parameters.ts';
import { authenticateClient } from '../client-authentication.ts';
import { introspectToken } from './introspect-token.ts';

/** RFC 7662. The caller authenticates, or anybody could scan for tokens (§4). */
export async function introspectionRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/introspect', { config: { anySite: true } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { authorization } = request.headers;
    if (authorization === undefined) throw invalidClient('no credentials');
    const form = readForm(request.body);
    const caller = await authenticateClient(deps, { authorization, form, address: request.ip });
    if (caller.client_type === 'public') throw invalidClient('a public client cannot introspect');
    if (!form.token) throw invalidRequest('token is missing.');
    return introspectToken(deps, caller, form.token);
  });
}
