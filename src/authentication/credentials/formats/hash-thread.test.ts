import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../../../platform/errors.ts';
import { freeThreads, hashInThread, type Job } from './hash-thread.ts';

const quick: Job = { kind: 'phpass', password: Buffer.from('a'), salt: Buffer.from('12345678'), log2: 7 };

test('two hashes at once have a thread each, and the next one has one of these', async () => {
  const one = await Promise.all([hashInThread(quick), hashInThread(quick)]);
  assert.deepEqual(one[0], one[1]);
  assert.equal(freeThreads(), 2);
  assert.deepEqual(await hashInThread(quick), one[0]);
  assert.equal(freeThreads(), 2);
});

test('a thread that fails ends, which is an overload; the next hash has another', async () => {
  const failing = { ...quick, kind: 'bcrypt', settings: 'no salt' } as unknown as Job;
  const isOverload = (error: unknown) => error instanceof RequestError && error.code === 'temporarily_unavailable';
  await assert.rejects(hashInThread(failing), isOverload);
  assert.equal((await hashInThread(quick)).length, 16);
});
