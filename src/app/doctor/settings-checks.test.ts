import assert from 'node:assert/strict';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import type { CheckDeps } from './check.ts';
import { checkMemory } from './settings-checks.ts';

const mebi = 1024 * 1024;
const withWorkers = (workers: number) => ({ config: { workers } }) as CheckDeps;

test('a bound on memory that is too low for so many workers is a warning that says how much they need', () => {
  for (const [workers, limit, state] of [
    [1, 128, 'warning'],
    [1, 192, 'ok'],
    [2, 256, 'warning'],
    [2, 384, 'ok'],
    [4, 384, 'warning'],
  ] as const) {
    const check = checkMemory(withWorkers(workers), limit * mebi);
    assert.equal(check.state, state, `${workers} in ${limit} MiB`);
    assert.match(check.found, new RegExp(`bounded to ${limit} MiB`));
    assert.equal(check.remedy === null, state === 'ok');
  }
  assert.match(checkMemory(withWorkers(2), 256 * mebi).found, /needs 384 MiB with SIGNET_WORKERS=2/);
  for (const none of [0, totalmem(), 2 ** 63]) assert.equal(checkMemory(withWorkers(64), none).state, 'ok');
});
