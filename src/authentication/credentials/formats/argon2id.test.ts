import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Sodium } from 'sodium-native';
import { RequestError } from '../../../platform/errors.ts';
import { findSodium } from '../../../platform/sodium.ts';
import { argon2id } from './argon2id.ts';

/** What a machine has that libsodium was not installed on. */
const withoutSodium = async () => undefined;

const parameters = (own: Partial<Parameters<typeof argon2id>[0]> = {}) => ({
  message: Buffer.from('correct horse battery staple'),
  nonce: Buffer.from('sixteen byte salt').subarray(0, 16),
  memory: 64,
  passes: 2,
  parallelism: 1,
  tagLength: 32,
  ...own,
});

/** libsodium, and how often it was asked. */
function countingSodium() {
  const seen = { calls: 0 };
  const find = async (): Promise<Sodium> => {
    const sodium = await findSodium();
    assert.ok(sodium, 'it is installed with the development dependencies');
    return {
      ...sodium,
      crypto_pwhash_async: (...given) => {
        seen.calls += 1;
        sodium.crypto_pwhash_async(...given);
      },
    };
  };
  return { seen, find };
}

test('libsodium and OpenSSL compute the same hash, of any password', async () => {
  const { seen, find } = countingSodium();
  for (const message of [Buffer.alloc(0), Buffer.from('a'), Buffer.from('é'.repeat(500)), randomBytes(1024)]) {
    for (const [memory, passes] of [
      [8, 1],
      [64, 3],
      [19_456, 2],
    ] as const) {
      const given = parameters({ message, nonce: randomBytes(16), memory, passes });
      const [one, other] = [await argon2id(given, find), await argon2id(given, withoutSodium)];
      assert.equal(one.toString('hex'), other.toString('hex'), JSON.stringify(given));
    }
  }
  assert.equal(seen.calls, 12);
});

test('OpenSSL computes what libsodium refuses', async () => {
  const { seen, find } = countingSodium();
  for (const own of [{ parallelism: 4 }, { nonce: randomBytes(8) }, { nonce: randomBytes(32) }, { tagLength: 12 }]) {
    const tag = await argon2id(parameters(own), find);
    assert.deepEqual(tag, await argon2id(parameters(own), withoutSodium));
  }
  assert.equal(seen.calls, 0);
});

for (const [name, find] of [
  ['libsodium', findSodium],
  ['OpenSSL', withoutSodium],
] as const) {
  test(`the event loop goes on while ${name} hashes`, async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await argon2id(parameters({ memory: 65_536, passes: 4 }), find);
    clearInterval(timer);
    assert.ok(turns > 2, `${turns} turns`);
  });
}

test('without memory for a hash the answer is 503', async () => {
  const find = async () => {
    const sodium = await findSodium();
    assert.ok(sodium);
    const withoutMemory: Sodium['crypto_pwhash_async'] = (...given) => given[6](new Error('status: -1'));
    return { ...sodium, crypto_pwhash_async: withoutMemory };
  };
  const isOverload = (error: unknown) => error instanceof RequestError && error.code === 'temporarily_unavailable';
  await assert.rejects(argon2id(parameters(), find), isOverload);
});
