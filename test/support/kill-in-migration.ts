import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { MigratedStore } from './migrate-until-killed.ts';

/**
 * @param howFar from 0, before the first statement, to 1, after the last one.
 * @param place in a store in cells, or after some migrations: the number of the part, and of those that go before in it.
 * @returns how far the migration was when its process was killed.
 */
export async function killInMigration(
  store: MigratedStore,
  howFar: number,
  { part = 0, before = 0 }: { part?: number; before?: number } = {},
): Promise<string> {
  const program = join(import.meta.dirname, 'migrate-until-killed.ts');
  const words = [JSON.stringify(store), howFar, part, before].map(String);
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), once(child, 'close')]);
  assert.match(String(said), /^waiting/);
  child.kill('SIGKILL');
  await once(child, 'close');
  return String(said).slice('waiting '.length).trim();
}
