import type { FastifyInstance } from 'fastify';
import type { Deps } from './deps.ts';
import { readWrite } from './entitlement.ts';
import { write } from './operations.ts';
import { authenticateService } from './service-credentials/authenticate-service.ts';
import { writeEntitlement } from './write-entitlement.ts';

/** Who is entitled to what across products (specification 2.10, 4.12). */
export async function entitlementRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/v1/entitlements', { config: { anySite: true, operation: write } }, async (request) => {
    const presented = { authorization: request.headers.authorization, address: request.ip };
    const credential = await authenticateService(deps, presented, 'entitlements:write');
    return writeEntitlement(deps, { credential, address: request.ip }, readWrite(request.body));
  });
}
