import cluster, { type Worker } from 'node:cluster';
import { type Family, sumOf } from '../platform/metrics.ts';
import { ofThisProcess, type ReadOthers, type Scrape } from './metrics.ts';

// Messages between the first process and its workers: each is asked what it has counted, and a worker that is scraped asks
// the first process for the whole.
type Message =
  | { ask: 'counts' | 'scrape'; id: number }
  | { answered: 'counts'; id: number; families: Family[] }
  | { answered: 'scrape'; id: number; text: string };

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && ('ask' in message || 'answered' in message);

/** A worker that is busy for longer is counted as it was. */
const answerMs = 1000;
const scrapeMs = 5000;

let lastId = 0;

/** Resolves undefined without an answer in time. */
function answerOf<Answered>(
  from: { on(event: 'message', heard: (message: unknown) => void): void; off: typeof from.on },
  ask: (id: number) => void,
  read: (message: Message) => Answered | undefined,
  timeoutMs: number,
): Promise<Answered | undefined> {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve) => {
    const end = (answered: Answered | undefined) => {
      clearTimeout(timer);
      from.off('message', hear);
      resolve(answered);
    };
    const hear = (message: unknown) => {
      if (isMessage(message) && 'answered' in message && message.id === id) end(read(message));
    };
    const timer = setTimeout(() => end(undefined), timeoutMs);
    from.on('message', hear);
    ask(id);
  });
}

/**
 * What the workers have counted. What is known of one that has ended stays in the sum: a counter that fell would look like
 * a restart, and its whole value like an increase.
 */
export function readWorkers(): ReadOthers {
  const known = new Map<number, readonly Family[]>();
  let ended: Family[] = [];
  cluster.on('exit', (worker) => {
    const last = known.get(worker.id)?.filter(({ type }) => type !== 'gauge') ?? [];
    known.delete(worker.id);
    ended = sumOf([ended, last]);
  });
  const read = async (worker: Worker) => {
    const ask = (id: number) => void worker.send({ ask: 'counts', id } satisfies Message);
    const answered = await answerOf(
      worker,
      ask,
      (message) => ('families' in message ? message.families : undefined),
      answerMs,
    );
    if (answered && worker.isConnected()) known.set(worker.id, answered);
  };
  return async () => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
    await Promise.all(workers.map((worker) => read(worker!)));
    return [...known.values(), ended];
  };
}

/** In the first process, for workers that are scraped on the main port. */
export function scrapeForWorkers(scrape: Scrape): void {
  cluster.on('message', async (worker, message: unknown) => {
    if (!isMessage(message) || !('ask' in message) || message.ask !== 'scrape') return;
    const text = await scrape();
    if (worker.isConnected()) worker.send({ answered: 'scrape', id: message.id, text } satisfies Message);
  });
}

/** In a worker. */
export function tellCounts(): void {
  process.on('message', (message) => {
    if (!isMessage(message) || !('ask' in message)) return;
    process.send?.({ answered: 'counts', id: message.id, families: ofThisProcess() } satisfies Message);
  });
}

/** In a worker: the whole node's, as the first process has it. */
export const scrapeOfNode: Scrape = async () => {
  const ask = (id: number) => void process.send?.({ ask: 'scrape', id } satisfies Message);
  const text = await answerOf(process, ask, (message) => ('text' in message ? message.text : undefined), scrapeMs);
  if (text === undefined) throw new Error('The first process did not answer the scrape.');
  return text;
};
