import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Static, Type } from '../platform/schema.ts';

/** Where a secret is. It is never in the file itself, which others read and which is kept for ever. */
export const SecretReference = Type.Union(
  [
    Type.Object(
      { env: Type.String({ minLength: 1, maxLength: 200, description: 'The name of a variable of the environment.' }) },
      { additionalProperties: false },
    ),
    Type.Object(
      {
        file: Type.String({ minLength: 1, maxLength: 4096, description: 'A file, seen from the folder of this one.' }),
      },
      { additionalProperties: false },
    ),
  ],
  { description: 'Where its secret is. Left out: a new one is made with it, and printed once.' },
);
type Reference = Static<typeof SecretReference>;

export type Variable = (name: string) => string | undefined;

const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length === 1 &&
  Object.entries(value).every(([name, text]) => (name === 'env' || name === 'file') && typeof text === 'string');

/** @returns the secret, without the line break at the end of a file; or what is wrong, without what was read. */
export function readSecret(
  value: unknown,
  { folder, variable }: { folder: string; variable: Variable },
): { secret: string } | { problem: string } {
  if (!isReference(value))
    return { problem: 'Must be { env: NAME } or { file: PATH }: a secret is never in the file itself.' };
  if ('env' in value) {
    const found = variable(value.env);
    return found ? { secret: found } : { problem: 'The variable is not set in the environment.' };
  }
  try {
    const secret = readFileSync(resolve(folder, value.file), 'utf8').replace(/\r?\n$/, '');
    return secret === '' ? { problem: 'The file of the secret is empty.' } : { secret };
  } catch {
    return { problem: 'The file of the secret cannot be read.' };
  }
}
