import { algorithms } from '../../clients/signing-algorithm.ts';
import { listSigningKeys } from '../../oauth/signing-keys/store.ts';
import type { Deps } from '../deps.ts';

/** Why a node should be sent no requests. */
export type Unready = 'stopping' | 'store' | 'signing_keys';

/** No answer after this long counts as none: a probe waits for a second or a few. */
const answerMs = 2000;
const freshForMs = 1000;

/**
 * Asks the store at most once a second and once at a time, however many ask: the address is open to strangers.
 * @returns a function that says what is missing; it never throws.
 */
export function readiness(deps: Pick<Deps, 'db' | 'clock' | 'log'>): () => Promise<readonly Unready[]> {
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
    const keys = await listSigningKeys(db);
    const canSign = (algorithm: string) =>
      keys.some((key) => key.algorithm === algorithm && key.status === 'active' && key.private_key_sealed !== null);
    return algorithms.every(canSign) ? [] : ['signing_keys'];
  } catch (error) {
    log.warn({ err: error }, 'not ready: the store does not answer');
    return ['store'];
  }
}

const noAnswer = () =>
  new Promise<readonly Unready[]>((resolve) => {
    setTimeout(resolve, answerMs, ['store']).unref();
  });
