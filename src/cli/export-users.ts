import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exportAllUsers } from '../imports/export-users.ts';
import { invalidRequest } from '../platform/errors.ts';
import { command, UsageError } from './command.ts';

export const exportCommand = {
  'users export-all': command({
    summary:
      'Export every user with everything that they sign in with, encrypted to an age key, in the format that users import reads. Keep the key off this machine.',
    operands: { file: { value: 'file' } },
    options: {
      recipient: { value: 'age1...', help: 'the public key (age) that alone can read the file', required: true },
    },
    async run(deps, { file, recipient }) {
      const { Encrypter } = await import('age-encryption');
      const encrypter = new Encrypter();
      try {
        encrypter.addRecipient(recipient);
      } catch {
        throw new UsageError('--recipient must be a public key of age, such as age-keygen prints: age1...');
      }
      const target = createWriteStream(file, { flags: 'wx', mode: 0o600 });
      await new Promise<void>((resolve, reject) => target.once('open', () => resolve()).once('error', reject)).catch(
        () => {
          throw invalidRequest('The file cannot be made, or is there already. Nothing was written.');
        },
      );
      let users = 0;
      async function* bytes() {
        for await (const page of await exportAllUsers(deps, { actor: 'cli' }, recipient)) {
          users += page.split('\n').length - 1;
          yield Buffer.from(page);
        }
      }
      try {
        await pipeline(
          Readable.fromWeb((await encrypter.encrypt(Readable.toWeb(Readable.from(bytes())) as never)) as never),
          target,
        );
      } catch (error) {
        await rm(file, { force: true });
        throw error;
      }
      return {
        json: { users, file },
        text: `${users} users are in ${file}. Read it where the key is: age --decrypt -i KEY ${file} > users.jsonl`,
      };
    },
  }),
};
