import { readFile, stat } from 'node:fs/promises';
import { brandOperations } from '../admin/brand/operations.ts';
import { picturesKb } from '../brand/brand-rules.ts';
import { pictureNames } from '../platform/pages/brand.ts';
import { command, UsageError } from './command.ts';
import { commandsOf } from './operation-command.ts';

const operations = commandsOf(brandOperations);

/** The brand: by its operations, and the one of pictures with the name of a file. */
export const brandCommands = {
  ...operations,
  'brand set-picture': command({
    summary: 'Show a picture: a logo, one for the dark, the icon of the tab, or the one of the home screen of a phone.',
    operands: { picture: { oneOf: [...pictureNames] }, file: { value: 'file' } },
    async run(deps, { picture, file }) {
      const found = await stat(file).catch(() => undefined);
      if (!found?.isFile()) throw new UsageError('There is no such file to read.');
      if (found.size > picturesKb[picture] * 1024)
        throw new UsageError(`The file is larger than ${picturesKb[picture]} KB.`);
      const content = await readFile(file);
      const body = { content: content.toString('base64') };
      const brand = await brandOperations.setPicture.run(deps, { caller: { actor: 'cli' }, picture, body, query: {} });
      return { json: brand, text: `${picture} is now ${file}.` };
    },
  }),
};
