import type { FastifyInstance } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { sendRefusal } from '../../platform/pages/errors.ts';
import type { Deps } from '../deps.ts';
import { readiness, type Unready } from './readiness.ts';

const sentences: Readonly<Record<Unready, string>> = {
  stopping: 'Not ready: this node is stopping.',
  store: 'Not ready: the store does not answer.',
  signing_keys: 'Not ready: a signing key is missing.',
};

/** For whatever starts, watches and balances nodes. Open to everybody, and says nothing that a failed request does not. */
export async function healthRoutes(app: FastifyInstance, deps: Deps) {
  const missing = readiness(deps);

  // The process answers: that is all. A store that is away must not get every node restarted.
  app.get('/livez', async (_request, reply) => reply.send({ status: 'live' }));

  app.get('/readyz', async (request, reply) => {
    const reasons = app.serving.isStopping ? (['stopping'] as const) : await missing();
    if (reasons.length === 0) return reply.send({ status: 'ready' });
    return sendRefusal(
      deps,
      request,
      reply,
      new RequestError('temporarily_unavailable', sentences[reasons[0]!], { retryAfter: 2, details: { reasons } }),
    );
  });
}
