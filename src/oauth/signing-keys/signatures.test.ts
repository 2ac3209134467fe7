import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { signerOf, verifierOf } from './signatures.ts';

/** What a machine has that libsodium was not installed on. */
const withoutSodium = async () => undefined;

// RFC 8032 §7.1, test 3.
const d = Buffer.from('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7', 'hex');
const x = Buffer.from('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025', 'hex');
const message = Buffer.from('af82', 'hex');
const expected =
  '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a';
const jwk = { kty: 'OKP', crv: 'Ed25519', d: d.toString('base64url'), x: x.toString('base64url') };
const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
const publicKey = createPublicKey({ key: jwk, format: 'jwk' });

test('libsodium is installed with the development dependencies', async () => {
  assert.ok((await import('sodium-native')).default, 'or the tests below compare OpenSSL with itself');
});

for (const [name, find] of [
  ['libsodium', undefined],
  ['OpenSSL', withoutSodium],
] as const) {
  test(`Ed25519 by ${name} is that of RFC 8032, and any other bit is refused`, async () => {
    const signature = await signerOf('EdDSA', privateKey, find)(message);
    assert.equal(signature.toString('hex'), expected);
    const verify = verifierOf('EdDSA', publicKey, find);
    assert.equal(await verify(message, signature), true);
    for (let byte = 0; byte < signature.length; byte += 1) {
      const forged = Buffer.from(signature);
      forged[byte]! ^= 1 << (byte % 8);
      assert.equal(await verify(message, forged), false, `byte ${byte}`);
    }
    assert.equal(await verify(Buffer.from('af83', 'hex'), signature), false);
    for (const bytes of [Buffer.alloc(0), signature.subarray(1), Buffer.concat([signature, Buffer.alloc(1)])]) {
      assert.equal(await verify(message, bytes), false, `${bytes.length} bytes`);
    }
    // The order of the group, added to the second half: the same point, but no longer canonical (RFC 8032 §5.1.7).
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const half = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + order;
    const second = Buffer.from(half.toString(16).padStart(64, '0'), 'hex').reverse();
    assert.equal(await verify(message, Buffer.concat([signature.subarray(0, 32), second])), false);
  });
}

test('both make the same signatures, with keys that Signet generates', async () => {
  for (let round = 0; round < 8; round += 1) {
    const pair = generateKeyPairSync('ed25519');
    const input = randomBytes(round * 100);
    const one = await signerOf('EdDSA', pair.privateKey)(input);
    assert.deepEqual(one, await signerOf('EdDSA', pair.privateKey, withoutSodium)(input));
    assert.equal(await verifierOf('EdDSA', pair.publicKey, withoutSodium)(input, one), true);
    assert.equal(await verifierOf('EdDSA', publicKey)(input, one), false);
  }
});
