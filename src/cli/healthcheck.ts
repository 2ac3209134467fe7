import { askReadiness } from '../app/ask-readiness.ts';
import { commandWithoutStore } from './command.ts';

export const healthcheckCommand = {
  healthcheck: commandWithoutStore({
    summary: 'Check whether the server on this machine is ready. Asks its `/readyz`, and exits with 1 if it is not.',
    async runWithoutStore(config) {
      try {
        const { status, error_description: reason = 'Not ready.' } = await askReadiness(config);
        if (status === 'ready') return { json: { status }, text: 'Ready.' };
        return { json: { status: 'not_ready', error_description: reason }, text: reason, failed: true };
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const text = `Not ready: no Signet answers on port ${config.port} (${code ?? message}).`;
        return { json: { status: 'unreachable', error_description: text }, text, failed: true };
      }
    },
  }),
};
