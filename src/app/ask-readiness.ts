import { json } from 'node:stream/consumers';
import type { Config } from '../platform/config.ts';
import { get } from '../platform/http/node-http.ts';

/** Longer than `/readyz` waits for the store. */
const timeoutMs = 4000;

type Answer = { status?: string; error_description?: string; warnings?: readonly string[] };

/** Where a server that listens on every address is reached from its own machine. */
const ownAddress = (host: string) => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/**
 * Asks the server on this machine, as `/readyz` says.
 * @throws an error of the connection, or one that says that the answer is no JSON.
 */
export function askReadiness({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get({ host: ownAddress(host), port, path: '/readyz', agent: false, signal: AbortSignal.timeout(timeoutMs) })
      .on('response', (response) => json(response).then((answer) => resolve(answer as Answer), reject))
      .on('error', reject);
  });
}
