import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret, URI } from 'otpauth';
import { encode } from 'uqr';
import { matchingStep, newTotpSecret, otpauthUri, qrCode } from './totp.ts';

/** RFC 6238 appendix B. Its codes have eight digits; ours are the last six of them (RFC 4226 §5.3: modulo 10^digits). */
const vectors = [
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
] as const;
const secret = Secret.fromUTF8('12345678901234567890').base32;

test('codes are those of RFC 6238 appendix B, SHA-1', async () => {
  for (const [at, code] of vectors) {
    assert.equal(await matchingStep(secret, code.slice(-6), at), Math.floor(at / 30), String(at));
    assert.equal(await matchingStep(secret, code, at), undefined, 'six digits, never eight');
  }
});

test('a code counts one step early and one step late, and says which step it is', async () => {
  for (const [at, code] of vectors) {
    const step = Math.floor(at / 30);
    for (const steps of [-1, 0, 1]) {
      assert.equal(await matchingStep(secret, code.slice(-6), (step - steps) * 30), step);
      assert.equal(await matchingStep(secret, code.slice(-6), (step - steps) * 30 + 29), step);
    }
    for (const steps of [-2, 2])
      assert.equal(await matchingStep(secret, code.slice(-6), (step + steps) * 30), undefined);
  }
});

test('a code may be typed in groups and in any digits, and nothing else is one', async () => {
  for (const typed of ['287 082', ' 287082\n', '287-082', '２８７０８２', '٢٨٧٠٨٢', '२८७०८२']) {
    assert.equal(await matchingStep(secret, typed, 59), 1, typed);
  }
  const others = ['', '28708', '2870822', '287082x', '0x4616a', '2.87e5', '+87082', '287082'.repeat(1000)];
  for (const typed of others) assert.equal(await matchingStep(secret, typed, 59), undefined, typed);
});

test('a secret has 160 bits, and no two are alike', async () => {
  const secrets = await Promise.all(Array.from({ length: 50 }, newTotpSecret));
  for (const one of secrets) assert.match(one, /^[A-Z2-7]{32}$/);
  assert.equal(new Set(secrets).size, 50);
});

test('the Key URI says who asks and for which account, whatever the names are made of', async () => {
  const uriFor = (name: string, email: string) =>
    otpauthUri({ config: { brand: { name } } } as Parameters<typeof otpauthUri>[0], { email, secret_base32: secret });
  const uri = await uriFor('Ada & Co: ID', 'ada+x@example.com');
  assert.match(uri, /^otpauth:\/\/totp\/Ada%20%26%20Co%20%20ID:ada%2Bx%40example\.com\?/);
  const parameters = new URL(uri).searchParams;
  assert.equal(parameters.get('issuer'), 'Ada & Co  ID');
  assert.equal(parameters.get('secret'), secret);
  assert.deepEqual(
    ['algorithm', 'digits', 'period'].map((name) => parameters.get(name)),
    ['SHA1', '6', '30'],
  );
  assert.equal(URI.parse(uri).label, 'ada+x@example.com');
});

const uri = 'otpauth://totp/Signet:ada%40example.com?issuer=Signet&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

test('the picture has every dark module of the code, and a quiet zone of four around it', async () => {
  const svg = (await qrCode(uri, 'QR')).toString();
  const { data, size } = encode(uri, { ecc: 'M', border: 4 });
  const drawn = data.map((row) => row.map(() => false));
  for (const [, x, y, width] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let module = 0; module < Number(width); module += 1) drawn[Number(y)]![Number(x) + module] = true;
  }
  assert.deepEqual(drawn, data);
  assert.match(svg, new RegExp(`viewBox="0 0 ${size} ${size}"`));
  const edge = [0, 1, 2, 3].flatMap((place) => [...data[place]!, ...data.map((row) => row[place])]);
  assert.ok(edge.every((isDark) => !isDark));
});

test('the picture reads out its title, and carries neither style nor script', async () => {
  const svg = (await qrCode(uri, 'Scan <this>')).toString();
  assert.match(svg, /^<svg [^>]*role="img"[^>]*><title>Scan &lt;this&gt;<\/title>/);
  assert.doesNotMatch(svg, /style|script|href/);
  assert.ok(svg.length < 15_000, String(svg.length));
});
