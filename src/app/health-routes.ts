import type { FastifyInstance } from 'fastify';
import { canSign } from '../oauth/signing-keys/signing-keys.ts';
import { RequestError } from '../platform/errors.ts';
import { sendRefusal } from '../platform/pages/errors.ts';
import type { Deps } from './deps.ts';

/** Why a node should be sent no requests. */
type Unready = 'stopping' | 'store' | 'signing_keys';

const sentences: Readonly<Record<Unready, string>> = {
  stopping: 'Not ready: this node is shutting down.',
  store: 'Not ready: the database does not respond.',
  signing_keys: 'Not ready: a signing key is missing.',
};

/** Liveness and readiness, for process managers and load balancers. Public: they reveal no more than a failed request. */
export async function healthRoutes(app: FastifyInstance, deps: Deps) {
  const missing = readiness(deps);

  // Only that the process answers: an unavailable store must not get every node restarted.
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

/** Probes wait for a few seconds at most. */
const answerMs = 2000;
const freshForMs = 1000;

/**
 * The store is read at most once a second and once at a time, since these addresses are public.
 * @returns a function that resolves to what is missing; it never rejects.
 */
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
      answer = Promise.race([asked, noAnswer()]);
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

const noAnswer = () =>
  new Promise<readonly Unready[]>((resolve) => {
    setTimeout(resolve, answerMs, ['store']).unref();
  });
