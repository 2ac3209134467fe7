import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { unidentified } from '../../src/authentication/credentials/hash-queue.ts';
import { normalizePassword } from '../../src/authentication/credentials/password-hash.ts';
import { passwordProblems } from '../../src/authentication/credentials/password-policy.ts';
import { emailKey } from '../../src/platform/email-address.ts';
import type { Browser } from '../support/browser.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { startSignet } from '../support/signet.ts';

/**
 * Putting marks in order takes the square of their number: a body of 64 KB holds 32 000, which stop the process for
 * seconds. These texts are what does it; what is asserted is how long a text is composed at all.
 */
const marks = `a${'\u0301'.repeat(8000)}${'\u0316'.repeat(8000)}`;
const maxComposed = 2048;

/** As it is, two bytes a mark: escaped it would not fit into a body. */
const postForm = (browser: Browser, path: string, fields: Record<string, string>) =>
  browser.send(path, {
    method: 'POST',
    body: Object.entries(fields)
      .map(([name, value]) => `${name}=${value}`)
      .join('&'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });

/** Code units of the longest text that is normalised while `work` goes on, in this process. */
async function longestComposed(t: TestContext, work: () => unknown): Promise<number> {
  const spy = t.mock.method(String.prototype, 'normalize');
  let longest = 0;
  try {
    await work();
    for (const call of spy.mock.calls) longest = Math.max(longest, String(call.this).length);
  } finally {
    spy.mock.restore();
  }
  return longest;
}

test('a long text is never composed: before sign-in, in any field', async (t) => {
  const signet = await startSignet(t);
  const browser = signet.newBrowser();
  const { email } = await signet.newUser();
  const forms: [string, Record<string, string>][] = [
    ['/signin', { username: marks, password: 'x' }],
    ['/signin', { username: email, password: marks }],
    ['/reset', { email: marks }],
    ['/signup', { email: marks }],
    ['/reset/ln_x', { password: marks }],
    ['/signup/ln_x', { name: 'x', password: marks }],
    ['/signin/second-factor', { code: marks }],
    ['/oauth/token', { grant_type: 'authorization_code', client_id: 'x', client_secret: marks }],
  ];
  for (const [path, fields] of forms) {
    let status = 0;
    const longest = await longestComposed(t, async () => {
      status = (await postForm(browser, path, fields)).status;
    });
    assert.ok(longest <= maxComposed, `${path} composed ${longest}`);
    assert.ok(status < 500 && status !== 413, `${path} answered ${status}`);
  }
});

test('a long text is never composed: signed in, in any field', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  const client = { client_type: 'public', redirect_uris: ['https://rp.test/cb'] };
  const requests: [string, string, unknown][] = [
    ['PATCH', '/v1/me', { name: marks }],
    ['PATCH', '/v1/me', { name: '\u0301'.repeat(16_000) }],
    ['DELETE', '/v1/me', { email: marks }],
    ['POST', '/v1/me/email', { email: marks }],
    ['POST', '/v1/me/password', { password: marks }],
    ['POST', '/v1/me/2fa/totp/confirm', { code: marks }],
    ['POST', '/v1/me/passkeys', { name: marks, credential: {} }],
    ['POST', '/v1/oauth/clients', { ...client, name: marks }],
  ];
  for (const [method, path, body] of requests) {
    let status = 0;
    const longest = await longestComposed(t, async () => {
      status = (await sendJson({ browser, origin: signet.url }, method, path, body)).status;
    });
    assert.ok(longest <= maxComposed, `${method} ${path} composed ${longest}`);
    assert.ok([400, 409].includes(status), `${method} ${path} answered ${status}`);
  }
  assert.equal((await browser.get('/v1/me')).status, 200);
});

const sendJson = (
  { browser, origin }: { browser: Browser; origin: string },
  method: string,
  path: string,
  body: unknown,
) =>
  browser.send(path, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', origin },
  });

test('an address of any length has a key, and no account has one that is too long for an address', async (t) => {
  assert.equal(emailKey(' ADA@Example.com '), 'ada@example.com');
  assert.equal(emailKey(`${' '.repeat(300)}ada@example.com`), 'ada@example.com');
  const long = `${'a'.repeat(250)}@b.c`;
  assert.equal(emailKey(long), long);
  for (const overlong of [`a${long}`, marks]) assert.match(emailKey(overlong), /^overlong:[\w-]{43}$/);
  assert.notEqual(emailKey(`a${long}`), emailKey(`b${long}`));

  // Their failures are counted as everybody's are.
  const signet = await startSignet(t);
  const browser = signet.newBrowser();
  const guess = async () => (await postForm(browser, '/signin', { username: marks, password: 'x' })).status;
  for (let failures = 0; failures < 5; failures += 1) assert.equal(await guess(), 401);
  assert.equal(await guess(), 429);
});

test('a password that is too long to compose is too long all the same, and none that fits is refused for it', async (t) => {
  const { hash, verify } = newHasher();
  const asker = unidentified('ada@example.com', '192.0.2.1');
  const composed = await longestComposed(t, async () => {
    assert.match(JSON.stringify(passwordProblems(marks, { email: 'a@b.example' })), /problem\.password\.long/);
    await assert.rejects(hash(marks, asker));
    assert.equal(await verify(marks, undefined, asker), false);
  });
  assert.ok(composed <= maxComposed, String(composed));

  // The most that composing takes away: three code units become one of two bytes.
  const tight = 'u\u0308\u0304'.repeat(512);
  assert.equal(Buffer.byteLength(normalizePassword(tight)), 1024);
  assert.equal(await verify(tight, await hash(tight, asker), asker), true);
});

test('judging a password takes work in proportion to its length', (t) => {
  const spy = t.mock.method(String.prototype, 'slice');
  const slices = (password: string) => {
    spy.mock.resetCalls();
    passwordProblems(password, { email: 'a@b.example' });
    return spy.mock.callCount();
  };
  // Each begins with ever longer repeats or sequences; one of these signs folds to eighteen characters.
  for (const password of [`${'1234567890'.repeat(102)}x`, `${'a'.repeat(1022)}b1`, `${'\ufdfa'.repeat(340)}b1`]) {
    const count = slices(password);
    assert.ok(count < 20_000, `${password.slice(0, 4)}…: ${count}`);
  }
});

test('a list of sixteen thousand entries is not compared each with each', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  const client = { name: 'x', client_type: 'public', redirect_uris: ['https://rp.test/cb'] };
  const many = (entry: string) => Array.from({ length: Math.floor(60_000 / (entry.length + 3)) }, () => entry);
  const bodies = [
    { ...client, redirect_uris: many('a') },
    { ...client, allowed_scopes: many('openid') },
  ];
  // The schema library goes over a list like this to say which entries are alike, and copies what it found each time.
  const real = Array.prototype.reduce;
  let longest = 0;
  Array.prototype.reduce = function reduce(this: unknown[], ...rest: Parameters<typeof real>) {
    longest = Math.max(longest, this.length);
    return real.apply(this, rest);
  } as typeof real;
  try {
    for (const body of bodies) assert.equal((await browser.postJson('/v1/oauth/clients', body)).status, 400);
  } finally {
    Array.prototype.reduce = real;
  }
  assert.ok(longest < 1000, String(longest));
});
