import { providerOperations } from '../admin/providers/operations.ts';
import { maxLogoKb } from '../authentication/credentials/providers.ts';
import { command } from './command.ts';
import { commandsOf } from './operation-command.ts';
import { readOperand } from './read-operand.ts';

/** Providers: by their operations, and the one of pictures with the name of a file. */
export const providerCommands = {
  ...commandsOf(providerOperations),
  'providers set-logo': command({
    summary: 'Show a picture of your own on the button of a provider.',
    operands: { provider: { value: 'provider' }, file: { value: 'file' } },
    async run(deps, { provider, file }) {
      const content = await readOperand(file, maxLogoKb * 1024, `The file is larger than ${maxLogoKb} KB.`);
      const body = { content: content.toString('base64') };
      const after = await providerOperations.setLogo.run(deps, { caller: { actor: 'cli' }, provider, body, query: {} });
      return { json: after, text: `The picture of ${provider} is now ${file}.` };
    },
  }),
};
