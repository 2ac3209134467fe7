import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import { newHasher } from '../../../test/support/remembering-hasher.ts';
import { RequestError } from '../../platform/errors.ts';
import { argon2id } from './formats/argon2id.ts';
import { identified } from './hash-queue.ts';
import { needsRehash } from './password-formats.ts';
import { longestPasswordBytes, passwordHasher } from './password-hash.ts';

const asker = identified('usr_ada', '192.0.2.1');
const { hash, verify } = newHasher();
const hashPassword = (password: string) => hash(password, asker);
const verifyPassword = (password: string, stored: string | undefined) => verify(password, stored, asker);

const roomy = { perAccount: 100, perAddress: 100, maxWaitMs: 60_000, monotonic: () => 0 };

const isRefusal = (code: string) => (error: unknown) => error instanceof RequestError && error.code === code;

test('the platform computes the Argon2id vector of RFC 9106 section 5.3', () => {
  const tag = argon2Sync('argon2id', {
    message: Buffer.alloc(32, 1),
    nonce: Buffer.alloc(16, 2),
    secret: Buffer.alloc(8, 3),
    associatedData: Buffer.alloc(12, 4),
    parallelism: 4,
    tagLength: 32,
    memory: 32,
    passes: 3,
  });
  assert.equal(tag.toString('hex'), '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659');
});

test('a hash that the reference implementation wrote is verified, and asks to be made anew', async () => {
  // phc-winner-argon2, src/test.c: "password", "somesalt", t=2, m=2^16, p=1.
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.equal(await verifyPassword('password', stored), true);
  assert.equal(await verifyPassword('passwort', stored), false);
  assert.equal(needsRehash(stored), true);
});

test('a password opens its own hash, which carries the parameters that OWASP asks for', async () => {
  const stored = await hashPassword('correct horse battery staple');
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.equal(await verifyPassword('correct horse battery staple', stored), true);
  assert.equal(await verifyPassword('Correct horse battery staple', stored), false);
  assert.equal(needsRehash(stored), false);
});

test('the same password never hashes to the same text', async () => {
  assert.notEqual(
    await hashPassword('correct horse battery staple'),
    await hashPassword('correct horse battery staple'),
  );
});

test('every character counts, up to the last byte that we take', async () => {
  const longest = 'x'.repeat(longestPasswordBytes);
  const stored = await hashPassword(longest);
  assert.equal(await verifyPassword(longest, stored), true);
  assert.equal(await verifyPassword(`${longest.slice(1)}y`, stored), false);
  assert.equal(await verifyPassword(longest.slice(1), stored), false);
});

test('a composed and a decomposed letter are the same, and so are a wide and a plain space', async () => {
  const stored = await hashPassword('caf\u00e9 au lait');
  assert.equal(await verifyPassword('cafe\u0301\u3000au\u00a0lait', stored), true);
  assert.equal(await verifyPassword('cafe au lait', stored), false);
});

test('an overlong password cannot be set, and verifies as false', async () => {
  const overlong = 'x'.repeat(longestPasswordBytes + 1);
  await assert.rejects(hashPassword(overlong), isRefusal('invalid_request'));
  await assert.rejects(hashPassword('x'.repeat(1_000_000)), isRefusal('invalid_request'));
  const stored = await hashPassword('');
  assert.equal(await verifyPassword(overlong, stored), false);
  assert.equal(await verifyPassword('x'.repeat(1_000_000), stored), false);
});

test('without a hash nothing opens, the empty password included', async () => {
  assert.equal(await verifyPassword('', undefined), false);
  assert.equal(await verifyPassword('correct horse battery staple', undefined), false);
});

test('an unknown user takes a place in the queue like a known one', async () => {
  const { hash, verify } = passwordHasher({ ...roomy, concurrency: 1, queueLimit: 0 });
  const stored = await hash('correct horse battery staple', asker);
  const overlong = 'x'.repeat(longestPasswordBytes + 1);
  for (const [password, of] of [
    ['a', stored],
    ['a', undefined],
    [overlong, stored],
  ] as const) {
    const first = verify(password, of, asker);
    await assert.rejects(verify(password, of, asker), isRefusal('temporarily_unavailable'));
    assert.equal(await first, false);
  }
});

test('a full queue answers 503 with Retry-After, and serves again once there is room', async () => {
  const { hash } = passwordHasher({ ...roomy, concurrency: 2, queueLimit: 3 });
  const eight = Array.from({ length: 8 }, () => hash('correct horse battery staple', asker));
  const outcomes = await Promise.allSettled(eight);
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason);
  assert.equal(refused.length, 3);
  for (const reason of refused) {
    assert.ok(reason instanceof RequestError);
    assert.equal(reason.status, 503);
    assert.ok(reason.retryAfter);
  }
  assert.match(await hash('correct horse battery staple', asker), /^\$argon2id\$/);
});

test('hashes leave threads of the pool: tokens are signed there, and changes are flushed', async () => {
  let running = 0;
  let most = 0;
  const { hash } = newHasher(
    {},
    {
      derive: async (parameters) => {
        running += 1;
        most = Math.max(most, running);
        const tag = await argon2id(parameters);
        running -= 1;
        return tag;
      },
    },
  );
  await Promise.all(
    [1, 2, 3, 4, 5, 6].map((user) => hash('correct horse battery staple', identified(`usr_${user}`, '192.0.2.1'))),
  );
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  assert.ok(most > 0 && most <= threads - 2, `${most} of ${threads}`);
});

test('a hash that fails leaves its place to the next one', async () => {
  let failures = 2;
  const { hash } = newHasher(
    {},
    {
      derive: async (parameters) => {
        if (failures-- > 0) throw new Error('it failed');
        return argon2id(parameters);
      },
    },
  );
  for (let count = 0; count < 2; count += 1) await assert.rejects(hash('a', asker), /it failed/);
  assert.match(await hash('correct horse battery staple', asker), /^\$argon2id\$/);
});

test('without a hash an answer takes as long as a wrong password for the slower hash of another product', async () => {
  const { verify } = newHasher({}, { monotonic: () => performance.now() });
  const slow = '$2b$11$1iSH9Mjg/7FuvWz2eXNCL.b/R9NvitepaAFkpReMRiF9vdPtmG8YS';
  const timeOf = async (stored: string | undefined) => {
    const startedAt = performance.now();
    assert.equal(await verify('wrong', stored, asker), false);
    return performance.now() - startedAt;
  };
  await timeOf(slow);
  const [unknown, other] = [await timeOf(undefined), await timeOf(slow)];
  assert.ok(unknown > 50 && unknown > other / 3, `${unknown} ms, ${other} ms`);
});
