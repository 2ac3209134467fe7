import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../../test/support/until.ts';
import { signerOf } from './signatures.ts';
import { openSigningThread, type SigningThread, type Unsigned } from './signing-thread.ts';
import { tokenSignerOf } from './token-signer.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const alone = { skip: availableParallelism() === 1 && 'a single processor has no such thread' };

const signerWith = (thread: SigningThread, key: KeyObject = privateKey, kid = 'kid') =>
  tokenSignerOf(
    { kid, algorithm: 'EdDSA', sign: signerOf('EdDSA', key), accessHeader: `${kid}-access`, idHeader: `${kid}-id` },
    key,
    thread,
  );
const requests = (count: number): Unsigned[] =>
  Array.from({ length: count }, (_, index) => ({
    access: JSON.stringify({ jti: `${index}`, name: 'Zoë Łukasz 日本 😀' }),
    id: index % 3 === 0 ? undefined : JSON.stringify({ nonce: `"\\${index}` }),
  }));
const expected = (count: number) => Promise.all(requests(count).map(signerWith(openSigningThread(''))));

/** One that is ready. */
async function openThread(idleMs?: number): Promise<SigningThread> {
  const thread = openSigningThread(undefined, idleMs);
  const kept = setInterval(() => undefined, 1000); // the thread does not keep the process
  try {
    const signed = requests(4).map(signerWith(thread));
    await nextTurn();
    const worker = thread.worker!;
    const early = once(worker, 'exit').then(() => assert.fail('it ended before it was ready'));
    await Promise.race([once(worker, 'message'), early]);
    await Promise.all(signed);
  } finally {
    clearInterval(kept);
  }
  return thread;
}

/** Counts what a thread signs. */
function watch(thread: SigningThread) {
  const watched = {
    signed: 0,
    sign(...[key, batch]: Parameters<SigningThread['sign']>) {
      const signed = thread.sign(key, batch);
      if (signed) watched.signed += batch.length;
      return signed;
    },
    worker: undefined,
  };
  return watched;
}

test('a thread and the event loop share many tokens, and sign what the event loop alone would', alone, async () => {
  const thread = watch(await openThread());
  const sign = signerWith(thread);
  for (const count of [1, 3, 4, 17, 200]) {
    thread.signed = 0;
    assert.deepEqual(await Promise.all(requests(count).map(sign)), await expected(count), `${count} at once`);
    assert.equal(thread.signed > 0, count >= 4, `${thread.signed} of ${count} by the thread`);
  }
  assert.ok(thread.signed < 200, 'the event loop has signed some');
});

test('tokens of two keys are signed with their own', alone, async () => {
  const thread = await openThread();
  const other = createPrivateKey(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const both = (of: SigningThread) => [signerWith(of), signerWith(of, other, 'other')];
  const signed = await Promise.all(both(thread).map((sign) => Promise.all(requests(40).map(sign))));
  const wanted = await Promise.all(both(openSigningThread('')).map((sign) => Promise.all(requests(40).map(sign))));
  assert.deepEqual(signed, wanted);
});

test('what a thread that ends has not signed is signed without it', alone, async (t) => {
  t.mock.method(process, 'emitWarning', () => undefined);
  const thread = await openThread();
  let failed = 0;
  const counting: SigningThread = {
    worker: undefined,
    sign(...batch) {
      const signed = thread.sign(...batch);
      signed?.catch(() => (failed += 1));
      return signed;
    },
  };
  const sign = signerWith(counting);
  const signed = requests(500).map(sign);
  setImmediate(() => thread.worker?.terminate());
  assert.deepEqual(await Promise.all(signed), await expected(500));
  assert.ok(failed > 0, 'the thread had some');
  assert.equal(thread.worker, undefined);
  assert.deepEqual(await Promise.all(requests(20).map(sign)), await expected(20), 'and so are others');
  assert.equal(thread.worker, undefined, 'no other is started');
});

for (const [cause, library] of [
  ['cannot load its library', '/nonexistent/sodium-native.js'],
  ['cannot be started', Symbol('not to be cloned') as unknown as string],
] as const) {
  test(`a thread that ${cause} is done without, and a warning says so`, alone, async (t) => {
    const warned = t.mock.method(process, 'emitWarning', () => undefined);
    const thread = openSigningThread(library);
    const sign = signerWith(thread);
    await until('a warning', async () => {
      assert.deepEqual(await Promise.all(requests(20).map(sign)), await expected(20));
      return warned.mock.callCount() > 0;
    });
    assert.deepEqual(await Promise.all(requests(20).map(sign)), await expected(20));
    assert.equal(warned.mock.callCount(), 1);
    assert.equal(thread.worker, undefined);
  });
}

test('very long claims are left to the event loop', alone, async () => {
  const thread = watch(await openThread());
  const long = Array.from({ length: 20 }, () => ({
    access: JSON.stringify({ text: 'x'.repeat(20_000) }),
    id: undefined,
  }));
  await Promise.all(long.map(signerWith(thread)));
  assert.equal(thread.signed, 0);
});

test(
  'a thread becomes ready, however long its start takes and however soon it would end without work',
  alone,
  async () => {
    await openThread(0);
  },
);

test('a thread without work ends, and another begins when there is some', alone, async () => {
  const thread = await openThread(100);
  const sign = signerWith(thread);
  const first = thread.worker;
  assert.deepEqual(await Promise.all(requests(20).map(sign)), await expected(20));
  await until('it has ended', () => !thread.worker);
  const signed = requests(20).map(sign);
  await nextTurn();
  assert.ok(thread.worker);
  assert.notEqual(thread.worker, first);
  assert.deepEqual(await Promise.all(signed), await expected(20));
});
