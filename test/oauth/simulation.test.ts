import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { repeated } from '../support/repeated.ts';
import { seededRandom } from '../support/seeded-random.ts';

/** In a process of its own, whose time is its own. @returns what it printed. */
async function simulateSeeds(...args: string[]): Promise<string> {
  const program = join(import.meta.dirname, '../simulation/main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { maxBuffer: 2 ** 26 }).catch(
    ({ stdout, stderr }) => assert.fail(`${stdout}${stderr}`),
  );
  return stdout;
}

test('whatever the order of requests, failures of the store and kills, what was answered stays true', async (t) => {
  const from = seededRandom(t).below(1_000_000_000);
  const tally = JSON.parse(await simulateSeeds('--seeds', String(repeated(120)), '--from', String(from)));
  t.diagnostic(JSON.stringify(tally));
  for (const outcome of ['tokens', 'refused', 'unknown', 'unauthenticated']) {
    assert.ok(tally[`token request: ${outcome}`] > 10, `no answer of the kind "${outcome}"`);
  }
});

test('a seed is the same simulation in each process', async () => {
  const [first, second] = await Promise.all([simulateSeeds('--seed', '17'), simulateSeeds('--seed', '17')]);
  assert.ok(first.split('\n').length > 50);
  assert.equal(second, first);
});
