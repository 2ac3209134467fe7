import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Deps } from '../oauth/deps.ts';
import { canSign } from '../oauth/signing-keys/signing-keys.ts';
import { RequestError } from '../platform/errors.ts';
import { sendRefusal } from '../platform/pages/errors.ts';

const sentences = {
  stopping: 'Not ready: this node is shutting down.',
  store: 'Not ready: the database does not respond.',
  signing_keys: 'Not ready: a signing key is missing.',
};
type Unready = keyof typeof sentences;

/** For process managers and load balancers. Public: they reveal no more than a failed request. */
export async function healthRoutes(app: FastifyInstance, deps: Deps) {
  const missing = readiness(deps);

  // Only that the process answers: an unavailable store must not get every node restarted.
  app.get('/livez', async (_request, reply) => reply.send({ status: 'live' }));

  app.get('/readyz', async (request, reply) => {
    const reasons = app.serving.isStopping ? (['stopping'] as const) : await missing();
    if (reasons.length === 0) return reply.send({ status: 'ready' });
    const options = { retryAfter: 2, details: { reasons } };
    const refusal = new RequestError('temporarily_unavailable', sentences[reasons[0]!], options);
    return sendRefusal(deps, request, reply, refusal);
  });
}

const answerMs = 2000;
const freshForMs = 1000;

/** The store is read at most once a second and once at a time, since the endpoint is public. */
function readiness(deps: Pick<Deps, 'db' | 'clock' | 'log'>): () => Promise<readonly Unready[]> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  let answer: Promise<readonly Unready[]> = Promise.resolve([]);
  return () => {
    if (!isAsking && Math.abs(deps.clock() - askedAt) >= freshForMs) {
      askedAt = deps.clock();
      isAsking = true;
      const asked = askStore(deps).finally(() => {
        isAsking = false;
      });
      answer = Promise.race([asked, sleep(answerMs, ['store'] as const, { ref: false })]);
    }
    return answer;
  };
}

async function askStore({ db, log }: Pick<Deps, 'db' | 'log'>): Promise<readonly Unready[]> {
  try {
    return (await canSign(db)) ? [] : ['signing_keys'];
  } catch (error) {
    log.warn({ err: error }, 'not ready: the database does not respond');
    return ['store'];
  }
}
