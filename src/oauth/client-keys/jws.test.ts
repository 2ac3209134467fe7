import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { clientAlgorithms, isSignedBy, parseJws, readPublicKey, thumbprintOf } from './jws.ts';

async function signed(alg: string, header: object = {}, options?: Parameters<typeof generateKeyPair>[1]) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true, ...options });
  const text = await new SignJWT({ jti: 'one' }).setProtectedHeader({ alg, ...header }).sign(privateKey);
  return { text, jwk: (await exportJWK(publicKey)) as JWK, secret: await exportJWK(privateKey) };
}

test('what jose signs by each algorithm of a client verifies, and has its thumbprint', async () => {
  for (const alg of clientAlgorithms) {
    const { text, jwk } = await signed(alg);
    const jws = parseJws(text) ?? assert.fail(alg);
    const key = readPublicKey(jwk) ?? assert.fail(alg);
    assert.equal(await isSignedBy(jws, key), true, alg);
    assert.equal(thumbprintOf(jwk), await calculateJwkThumbprint(jwk), alg);
    assert.equal(await isSignedBy({ ...jws, input: Buffer.from('other') }, key), false, alg);
    for (const other of clientAlgorithms.filter(
      (name) => name !== alg && !(name.startsWith('Ed') && alg.startsWith('Ed')),
    )) {
      const foreign = readPublicKey((await signed(other)).jwk) ?? assert.fail(other);
      assert.equal(await isSignedBy(jws, foreign), false, `${alg} by a key of ${other}`);
    }
  }
});

test('algorithms that a client may not use, and headers that must be understood, are no JWS', async () => {
  for (const alg of ['RS256', 'ES384', 'PS512']) assert.equal(parseJws((await signed(alg)).text), undefined, alg);
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`;
  const { text } = await signed('ES256');
  const [header, claims, signature] = text.split('.');
  const [crit, b64] = [{ crit: ['x'], x: 1 }, { b64: false }].map((more) =>
    Buffer.from(JSON.stringify({ alg: 'ES256', ...more })).toString('base64url'),
  );
  for (const wrong of [
    none,
    '',
    'a.b.c',
    `${text}.`,
    `${text}=`,
    `${header}.${claims}`,
    `${crit}.${claims}.${signature}`,
    `${b64}.${claims}.${signature}`,
    'x'.repeat(9000),
  ])
    assert.equal(parseJws(wrong), undefined, wrong.slice(0, 40));
});

test('a private key, a short one, one of another curve and what is no key are refused', async () => {
  const { secret, jwk } = await signed('ES256');
  const short = (await signed('ES384')).jwk;
  for (const wrong of [
    secret,
    short,
    { ...jwk, x: 'AA' },
    { ...jwk, kty: 'oct', k: 'AA' },
    { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
    { kty: 'constructor' },
    null,
    [],
    'key',
    {},
  ])
    assert.equal(readPublicKey(wrong), undefined, JSON.stringify(wrong));
});
