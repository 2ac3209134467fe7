import { json } from 'node:stream/consumers';
import { get } from '../platform/http/node-http.ts';
import { commandWithoutStore } from './command.ts';

/** Longer than `/readyz` waits for the store. */
const timeoutMs = 4000;

type Answer = { status?: string; error_description?: string };

export const healthcheckCommand = {
  healthcheck: commandWithoutStore({
    summary: 'Ask the server on this machine whether it is ready, as `/readyz` says; the exit code is 1 if not.',
    async runWithoutStore({ host, port }) {
      try {
        const { status, error_description: reason = 'Not ready.' } = await ask(ownAddress(host), port);
        if (status === 'ready') return { json: { status }, text: 'Ready.' };
        return { json: { status: 'not_ready', error_description: reason }, text: reason, failed: true };
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const text = `Not ready: no Signet answers on port ${port} (${code ?? message}).`;
        return { json: { status: 'unreachable', error_description: text }, text, failed: true };
      }
    },
  }),
};

/** Where a server that listens on every address is reached from its own machine. */
const ownAddress = (host: string) => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** @throws an error of the connection, or one that says that the answer is no JSON. */
function ask(host: string, port: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get({ host, port, path: '/readyz', agent: false, signal: AbortSignal.timeout(timeoutMs) })
      .on('response', (response) => json(response).then((answer) => resolve(answer as Answer), reject))
      .on('error', reject);
  });
}
