import { askReadiness } from '../app/ask-readiness.ts';
import { commandWithoutStore } from './command.ts';

export const healthcheckCommand = {
  healthcheck: commandWithoutStore({
    summary: 'Ask the server on this machine whether it is ready, as `/readyz` says; the exit code is 1 if not.',
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
