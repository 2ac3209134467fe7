import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { sendPublicDocument } from '../http/public-document.ts';

/** RFC 7517 key set: public keys, cacheable for five minutes (spec 4.2), from memory alone. */
export async function keyRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/.well-known/jwks.json', async (request, reply) => sendPublicDocument(request, reply, deps.keys.published));
}
