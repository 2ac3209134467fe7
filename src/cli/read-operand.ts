import { readFile, stat } from 'node:fs/promises';
import { UsageError } from './command.ts';

/** A file that was typed. @param tooLarge what is said of one with more bytes. @throws {UsageError} */
export async function readOperand(path: string, largest: number, tooLarge: string): Promise<Buffer> {
  const { size } = await requireFile(path);
  if (size > largest) throw new UsageError(tooLarge);
  return readFile(path).catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError(`The file cannot be read (${code}). Run the command as a user who may.`);
  });
}

/** @throws {UsageError} */
export async function requireFile(path: string): Promise<{ size: number }> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new UsageError('There is no such file to read.');
  return found;
}
