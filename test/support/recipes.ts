import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const pages = join(import.meta.dirname, '../../docs/resource-servers');

export const readRecipe = (page: string): Promise<string> => readFile(join(pages, page), 'utf8');

/** Writes each file of a page of docs/resource-servers: a line with its name and a colon, and the block below it. */
export async function writeRecipe(page: string, folder: string): Promise<void> {
  const files = [...(await readRecipe(page)).matchAll(/^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$/gms)];
  assert.ok(files.length > 0, `${page} has no file`);
  for (const [, path = '', content = ''] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}
