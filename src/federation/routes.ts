import type { FastifyInstance } from 'fastify';

/** No federated provider can be configured yet, so the list of enabled ones is empty (spec 4.8, decisions §9). */
export async function federationRoutes(app: FastifyInstance) {
  app.get('/v1/auth/providers', async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ providers: [] }),
  );
}
