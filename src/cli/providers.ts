import { readFile, stat } from 'node:fs/promises';
import { providerOperations } from '../admin/providers/operations.ts';
import { maxLogoKb } from '../authentication/credentials/providers.ts';
import { command, UsageError } from './command.ts';
import { commandsOf } from './operation-command.ts';

/** Providers: by their operations, and the one of pictures with the name of a file. */
export const providerCommands = {
  ...commandsOf(providerOperations),
  'providers set-logo': command({
    summary: 'Show a picture of your own on the button of a provider.',
    operands: { provider: { value: 'provider' }, file: { value: 'file' } },
    async run(deps, { provider, file }) {
      const found = await stat(file).catch(() => undefined);
      if (!found?.isFile()) throw new UsageError('There is no such file to read.');
      if (found.size > maxLogoKb * 1024) throw new UsageError(`The file is larger than ${maxLogoKb} KB.`);
      const body = { content: (await readFile(file)).toString('base64') };
      const after = await providerOperations.setLogo.run(deps, { caller: { actor: 'cli' }, provider, body, query: {} });
      return { json: after, text: `The picture of ${provider} is now ${file}.` };
    },
  }),
};
