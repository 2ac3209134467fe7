import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Address, getRequest } from '../load.ts';
import { exchangeBytes } from './one-connection.ts';

/** Between an answer and the next request. */
const pauseMs = 2;

export type Probe = {
  /** @returns the longest time in milliseconds that an answer has taken since the last call, one under way included. */
  longest(): Promise<number>;
  stop(): Promise<void>;
};

/** Asks for the key set again and again, from a thread of its own, so that work of the bench delays no answer. */
export function probeKeySet(address: Address): Probe {
  const worker = new Worker(new URL(import.meta.url), { workerData: address });
  const failed = once(worker, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => undefined); // whoever asks is told
  return {
    async longest() {
      worker.postMessage('longest');
      const [milliseconds] = await Promise.race([once(worker, 'message'), failed]);
      return milliseconds;
    },
    stop: async () => void (await worker.terminate()),
  };
}

if (!isMainThread && parentPort) {
  const port = parentPort;
  const address = workerData as Address;
  const request = getRequest(address, '/.well-known/jwks.json', {});
  let longest = 0;
  let sentAt = performance.now();
  port.on('message', () => {
    port.postMessage(Math.max(longest, performance.now() - sentAt));
    longest = 0;
  });
  const { exchange } = await exchangeBytes(address);
  for (;;) {
    sentAt = performance.now();
    const { status } = await exchange(request);
    if (status !== 200) throw new Error(`The key set was answered with ${status}.`);
    longest = Math.max(longest, performance.now() - sentAt);
    await sleep(pauseMs);
  }
}
