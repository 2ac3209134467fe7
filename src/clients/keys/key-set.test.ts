import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import { RequestError } from '../../platform/errors.ts';
import { readClientEdit, readRegistration } from '../registration.ts';
import { describeKeys, readKeySet } from './key-set.ts';

const pairOf = (kind: 'EC' | 'OKP' | 'RSA', bits = 2048) => {
  const { publicKey, privateKey } =
    kind === 'EC'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'OKP'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: bits });
  return { open: publicKey.export({ format: 'jwk' }), secret: privateKey.export({ format: 'jwk' }) };
};
const [ec, okp, rsa] = [pairOf('EC'), pairOf('OKP'), pairOf('RSA')];
const registration = { name: 'App', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] };

/** What a registration with these keys is refused with; undefined if it is not. */
function problemOf(jwks: unknown): string | undefined {
  try {
    readRegistration({ ...registration, jwks });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestError && error.code === 'invalid_request');
    const fields = error.details.fields as { path: string; message: string }[];
    assert.deepEqual([...new Set(fields.map(({ path }) => path))], ['jwks']);
    return fields.map(({ message }) => message).join(' ');
  }
}

test('RFC 7591 §2: a client registers its public keys as a JSON object, and they come back without what is not theirs', async () => {
  const jwks = {
    keys: [
      { ...ec.open, kid: 'ec', use: 'sig', alg: 'ES256', key_ops: ['verify'], ext: true },
      { x5c: ['MII'], ...okp.open, kid: 'okp', alg: 'EdDSA' },
      { ...rsa.open, kid: 'rsa' },
    ],
    more: 1,
  };
  const stored = readRegistration({ ...registration, jwks }).jwks;
  assert.deepEqual(stored, {
    keys: [
      { ...ec.open, kid: 'ec', use: 'sig', alg: 'ES256' },
      { ...okp.open, kid: 'okp', alg: 'EdDSA' },
      { ...rsa.open, kid: 'rsa' },
    ],
  });
  const inAnotherOrder = { keys: jwks.keys.map((jwk) => Object.fromEntries(Object.entries(jwk).reverse())) };
  assert.equal(JSON.stringify(readClientEdit({ jwks: inAnotherOrder }).fields.jwks), JSON.stringify(stored));
  assert.deepEqual(describeKeys(stored), [
    `kid ec, EC P-256 ES256, SHA-256 ${await calculateJwkThumbprint(ec.open)}`,
    `kid okp, OKP Ed25519 EdDSA, SHA-256 ${await calculateJwkThumbprint(okp.open)}`,
    `kid rsa, RSA, SHA-256 ${await calculateJwkThumbprint(rsa.open)}`,
  ]);
});

test('a private key is refused with the advice to replace it, and is in no error, whatever else is wrong', () => {
  for (const { secret } of [ec, okp, rsa]) {
    for (const jwks of [{ keys: [secret] }, { keys: [...Array(20).fill(null), secret] }, { keys: [{ d: secret.d }] }]) {
      const problem = problemOf(jwks) ?? assert.fail();
      assert.match(problem, /private key.*Create a new key pair/);
      assert.ok(!problem.includes(secret.d!));
    }
  }
  assert.match(problemOf({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] })!, /private key/);
});

test('keys that nothing could be verified with are refused, each with its number', () => {
  const one = { ...ec.open, kid: 'one' };
  const keyOf = (more: object) => ({ keys: [one, { ...ec.open, kid: 'two', ...more }] });
  for (const [jwks, said] of [
    [keyOf({ use: 'enc' }), /^Key 2: its use/],
    [keyOf({ alg: 'RS256' }), /^Key 2: its alg/],
    [keyOf({ alg: 'PS256' }), /^Key 2: its alg/],
    [keyOf({ kid: 7 }), /^Key 2: its kid/],
    [keyOf({ kid: '' }), /^Key 2: its kid/],
    [keyOf({ kid: 'k'.repeat(257) }), /^Key 2: its kid/],
    [keyOf({ kid: 'one' }), /kid of its own/],
    [keyOf({ kid: undefined }), /kid of its own/],
    [keyOf({ x: 'AAAA' }), /^Key 2 is none/],
    [keyOf({ crv: 'P-384' }), /^Key 2 is none/],
    [{ keys: [one, pairOf('RSA', 1024).open] }, /^Key 2 is none/],
    [{ keys: [one, null] }, /^Key 2 is none/],
    [{ keys: [one, [one]] }, /^Key 2 is none/],
    [{ keys: Array.from({ length: 11 }, (_, kid) => ({ ...ec.open, kid: `${kid}` })) }, /at most 10 keys/],
    [{ keys: [one], more: 'x'.repeat(16_384) }, /at most 16384/],
    [{ keys: [] }, /Key Set/],
    [{ keys: {} }, /Key Set/],
    [{}, /Key Set/],
    [[one], /Key Set/],
    ['{"keys":', /must be JSON/i],
    [7, /Key Set/],
  ] as const)
    assert.match(problemOf(jwks) ?? 'accepted', said, JSON.stringify(jwks).slice(0, 200));
  assert.equal(problemOf({ keys: [ec.open] }), undefined, 'a single key needs no kid');
  assert.equal(problemOf(null), undefined);
});

test('RFC 7591 §2: keys or their address, not both', () => {
  const both = { jwks: { keys: [ec.open] }, jwks_uri: 'https://rp.test/jwks.json' };
  assert.throws(() => readRegistration({ ...registration, ...both }), RequestError);
  assert.equal(readRegistration({ ...registration, jwks_uri: both.jwks_uri }).jwks_uri, both.jwks_uri);
  for (const jwks_uri of ['http://rp.test/jwks', 'https://u@rp.test/', 'https://rp.test/#a', 'file:///etc/passwd', ''])
    assert.throws(() => readRegistration({ ...registration, jwks_uri }), RequestError, jwks_uri);
  assert.ok('problem' in readKeySet(undefined));
});
