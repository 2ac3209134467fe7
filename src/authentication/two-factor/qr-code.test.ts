import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'uqr';
import { qrCode } from './qr-code.ts';

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

test('it reads out its title, and carries neither style nor script', async () => {
  const svg = (await qrCode(uri, 'Scan <this>')).toString();
  assert.match(svg, /^<svg [^>]*role="img"[^>]*><title>Scan &lt;this&gt;<\/title>/);
  assert.doesNotMatch(svg, /style|script|href/);
  assert.ok(svg.length < 15_000, String(svg.length));
});
