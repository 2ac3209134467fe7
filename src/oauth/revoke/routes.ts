import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import type { Deps } from '../deps.ts';
import { authenticateClient, presentsCredentials } from '../token/client-authentication.ts';
import { revoke } from '../token/operations.ts';
import { revokeToken } from './revoke-token.ts';

/** RFC 7009: an empty 200 whether there was something to revoke or not. */
export async function revocationRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/oauth/revoke', { config: { anySite: true, operation: revoke } }, async (request, reply) => {
    const form = readForm(request.body);
    const presented = { authorization: request.headers.authorization, form, address: request.ip };
    const caller = presentsCredentials(presented) ? await authenticateClient(deps, presented) : undefined;
    if (!form.token) throw invalidRequest('token is missing.');
    await revokeToken(deps, form.token, {
      client: caller,
      client_id: caller?.client_id ?? form.client_id,
      address: request.ip,
    });
    return reply.send();
  });
}
