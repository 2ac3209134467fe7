import { brandOperations } from '../admin/brand/operations.ts';
import { picturesKb } from '../brand/brand-rules.ts';
import { pictureNames } from '../platform/pages/brand.ts';
import { command } from './command.ts';
import { commandsOf } from './operation-command.ts';
import { readOperand } from './read-operand.ts';

const operations = commandsOf(brandOperations);

/** The brand: by its operations, and the one of pictures with the name of a file. */
export const brandCommands = {
  ...operations,
  'brand set-picture': command({
    summary: 'Show a picture: a logo, one for the dark, the icon of the tab, or the one of the home screen of a phone.',
    operands: { picture: { oneOf: [...pictureNames] }, file: { value: 'file' } },
    async run(deps, { picture, file }) {
      const kb = picturesKb[picture];
      const content = await readOperand(file, kb * 1024, `The file is larger than ${kb} KB.`);
      const body = { content: content.toString('base64') };
      const brand = await brandOperations.setPicture.run(deps, { caller: { actor: 'cli' }, picture, body, query: {} });
      return { json: brand, text: `${picture} is now ${file}.` };
    },
  }),
};
