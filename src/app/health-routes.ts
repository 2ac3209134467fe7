import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { RequestError } from '../platform/errors.ts';
import { sendRefusal } from '../platform/pages/errors.ts';
import { type Health, openHealth, unreadySentences } from './health.ts';

/** For process managers and load balancers. Public: they reveal no more than a failed request. */
export async function healthRoutes(app: FastifyInstance, deps: Deps) {
  const readHealth = openHealth(deps);

  // Only that the process answers: an unavailable store must not get every node restarted.
  app.get('/livez', { config: { isProbe: true } }, async (_request, reply) => reply.send({ status: 'live' }));

  app.get('/readyz', { config: { isProbe: true } }, async (request, reply) => {
    const health: Health = app.serving.isStopping ? { reasons: ['stopping'], warnings: [] } : await readHealth();
    const refusal = unready(health);
    return refusal ? sendRefusal(deps, request, reply, refusal) : reply.send(readyBody(health));
  });
}

export const readyBody = ({ warnings }: Health) => ({ status: 'ready', ...(warnings.length > 0 && { warnings }) });

export function unready({ reasons, warnings }: Health): RequestError | undefined {
  const [first] = reasons;
  if (first === undefined) return undefined;
  const details = { reasons, ...(warnings.length > 0 && { warnings }) };
  return new RequestError('temporarily_unavailable', unreadySentences[first], { retryAfter: 2, details });
}
