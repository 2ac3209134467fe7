import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { RequestError } from '../../platform/errors.ts';
import { clientAlgorithms } from '../client-keys/jws.ts';
import { newNonce } from './nonce.ts';
import { type ProofDeps, verifyProof } from './proof.ts';

const at = 1_800_000_000;
const vault = { mac: (_: string, message: Buffer) => createHmac('sha256', 'k').update(message).digest() };
const accessToken = 'an.access.token';
const ath = createHash('sha256').update(accessToken).digest('base64url');

/** @param baseUrl of the server. @returns with a store that remembers what was used. */
function readerAt(baseUrl = 'https://id.test') {
  const used: string[] = [];
  const change = async ({ run }: { run: { used: { sql: { params: unknown[] } } } }) => {
    const row = JSON.stringify(run.used);
    const isNew = !used.includes(row);
    used.push(row);
    return { ok: isNew };
  };
  const deps = {
    db: { of: () => ({ change }) },
    clock: () => at * 1000,
    vault,
    config: { baseUrl },
  } as unknown as ProofDeps;
  const read = (proof: string, path = '/oauth/userinfo') =>
    verifyProof(deps, { proof, method: 'GET', path, accessToken });
  return { read, used };
}

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const jwk = await exportJWK(publicKey);
const claims = { jti: 'one', htm: 'GET', htu: 'https://id.test/oauth/userinfo', iat: at, ath };
const header = { typ: 'dpop+jwt', jwk };
const proofOf = (changes: object = {}, headerChanges: object = {}) =>
  new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: 'ES256', ...header, ...headerChanges })
    .sign(privateKey);

const refusedAs =
  (code: string) =>
  (error: unknown): true => {
    assert.ok(error instanceof RequestError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, 'it fits into error_description');
    return true;
  };

test('a proof by each algorithm gives the thumbprint of its key, whatever else it says', async () => {
  for (const alg of clientAlgorithms) {
    const pair = await generateKeyPair(alg, { extractable: true });
    const own = await exportJWK(pair.publicKey);
    const proof = await new SignJWT({ ...claims, unknown: { member: 1 } })
      .setProtectedHeader({ ...header, alg, jwk: own, kid: 'ignored' })
      .sign(pair.privateKey);
    assert.equal(await readerAt().read(proof), await calculateJwkThumbprint(own), alg);
  }
});

test('the address is compared as a URL, without query, fragment, default port and case of the host', async () => {
  const same = [
    'HTTPS://ID.test/oauth/userinfo',
    'https://id.test:443/oauth/userinfo',
    'https://id.test/oauth/userinfo?a=b#c',
    'https://id.test/oauth/x/../userinfo',
  ];
  for (const htu of same) await readerAt().read(await proofOf({ htu }));
  const other = [
    'http://id.test/oauth/userinfo',
    'https://id.test:8443/oauth/userinfo',
    'https://id.test.evil.test/oauth/userinfo',
    'https://id.test/oauth/Userinfo',
    'https://id.test/oauth/userinfo/',
    'https://id.test/oauth/token',
    'https://other.test/oauth/userinfo',
    '/oauth/userinfo',
    '',
    'https://',
    ['https://id.test/oauth/userinfo'],
  ];
  for (const htu of other)
    await assert.rejects(readerAt().read(await proofOf({ htu })), refusedAs('invalid_dpop_proof'), String(htu));
  await readerAt('https://id.test:8443').read(await proofOf({ htu: 'https://id.test:8443/oauth/userinfo' }));
});

test('each member is needed, and has to be of its kind', async () => {
  const hostile = [undefined, null, '', 0, -1, true, [], {}, ['one'], 'x'.repeat(257), 1e308];
  for (const name of ['jti', 'htm', 'htu', 'ath', 'iat']) {
    for (const value of hostile) {
      if (name === 'iat' && typeof value === 'number') continue; // a time that is wrong asks for a nonce
      const proof = await proofOf({ [name]: value });
      await assert.rejects(
        readerAt().read(proof),
        refusedAs('invalid_dpop_proof'),
        `${name}: ${JSON.stringify(value)}`,
      );
    }
  }
  for (const iat of [0, -1, 1e308, at - 61, at + 61])
    await assert.rejects(readerAt().read(await proofOf({ iat })), refusedAs('use_dpop_nonce'), String(iat));
  for (const iat of [at - 60, at + 60, at + 0.5]) await readerAt().read(await proofOf({ iat }));
  for (const times of [{ nbf: at + 61 }, { exp: at }, { nbf: 'now' }, { exp: null }])
    await assert.rejects(readerAt().read(await proofOf(times)), refusedAs('invalid_dpop_proof'), JSON.stringify(times));
  await readerAt().read(await proofOf({ nbf: at + 10, exp: at + 1 }));
  await readerAt().read(await proofOf({ jti: 'x'.repeat(256) }));
});

test('the header names a public key and nothing that must be understood', async () => {
  const rsa = await exportJWK((await generateKeyPair('PS256', { extractable: true })).publicKey);
  const wrong: object[] = [
    { typ: 'JWT' },
    { typ: undefined },
    { typ: ['dpop+jwt'] },
    { jwk: undefined },
    { jwk: null },
    { jwk: [jwk] },
    { jwk: await exportJWK(privateKey) },
    { jwk: { ...jwk, x: 'AAAA' } },
    { jwk: { kty: 'oct', k: 'AAAA' } },
    { jwk: rsa },
    { jwk: await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey) },
  ];
  for (const changes of wrong)
    await assert.rejects(
      readerAt().read(await proofOf({}, changes)),
      refusedAs('invalid_dpop_proof'),
      JSON.stringify(changes),
    );
});

test('a nonce of this step or its neighbours makes the clock of the client irrelevant, and no other does', async () => {
  const late = { iat: 1 };
  const vaultOf = vault as unknown as ProofDeps['vault'];
  for (const away of [-300, 0, 300])
    await readerAt().read(await proofOf({ ...late, nonce: newNonce(vaultOf, at + away) }));
  const ours = newNonce(vaultOf, at);
  for (const nonce of [newNonce(vaultOf, at - 600), newNonce(vaultOf, at + 600), '', 'x', `${ours}=`, null, 1, [ours]])
    await assert.rejects(readerAt().read(await proofOf({ ...late, nonce })), (error) => {
      refusedAs('use_dpop_nonce')(error);
      assert.deepEqual((error as RequestError).headers, { 'dpop-nonce': ours });
      return true;
    });
});

test('what is used up is the proof, by its key and jti; what is refused before uses up nothing', async () => {
  const { read, used } = readerAt();
  await assert.rejects(read(await proofOf({ htm: 'POST' })), refusedAs('invalid_dpop_proof'));
  assert.equal(used.length, 0);
  await read(await proofOf());
  await assert.rejects(read(await proofOf({ unknown: 1 })), refusedAs('invalid_dpop_proof'));
  await read(await proofOf({ jti: 'two' }));
});

test('no header that is not exactly one signed proof is taken', async () => {
  const proof = await proofOf();
  const any = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc
      .array(fc.string({ unit: fc.constantFrom(...'eyJhbGciOi.-_=,; \t0'), maxLength: 80 }), { maxLength: 5 })
      .map((parts) => parts.join('.')),
    fc.constantFrom(
      `${proof}, ${proof}`,
      `${proof},`,
      ` ${proof}`,
      `${proof}\n`,
      `DPoP ${proof}`,
      `${proof}.`,
      proof.toLowerCase(),
    ),
    // One character is another, wherever it is.
    fc
      .tuple(fc.nat(proof.length - 1), fc.constantFrom(...'A1-_.= '))
      .map(([place, one]) => (proof[place] === one ? '' : proof.slice(0, place) + one + proof.slice(place + 1))),
    fc.nat(proof.length - 1).map((end) => proof.slice(0, end)),
    fc.json().map((json) => `${Buffer.from(json).toString('base64url')}.${proof.split('.').slice(1).join('.')}`),
    fc.constant(`${proof}${'A'.repeat(9000)}`),
  );
  await fc.assert(
    fc.asyncProperty(any, async (text) => {
      const { read, used } = readerAt();
      await assert.rejects(read(text), refusedAs('invalid_dpop_proof'));
      assert.equal(used.length, 0);
    }),
    { numRuns: 150 },
  );
});
