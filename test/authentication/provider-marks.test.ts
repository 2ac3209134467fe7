import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { readConfig } from '../../src/app/config.ts';
import { pngOf } from '../support/pictures.ts';
import { testWithoutStore } from '../support/signet.ts';

const folder = mkdtempSync(join(tmpdir(), 'signet-marks-'));
const file = (name: string, content: Buffer | string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const provider = (id: string, issuer: string, more: Record<string, string> = {}) => ({
  [`SIGNET_PROVIDER_${id}_ISSUER`]: issuer,
  [`SIGNET_PROVIDER_${id}_CLIENT_ID`]: 'signet',
  [`SIGNET_PROVIDER_${id}_CLIENT_SECRET`]: 'secret',
  ...more,
});

const env = {
  SIGNET_GOOGLE_CLIENT_ID: 'signet',
  SIGNET_GOOGLE_CLIENT_SECRET: 'secret',
  ...provider('WORK', 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0'),
  ...provider('LOOKALIKE', 'https://login.microsoftonline.com.evil.test/v2.0'),
  ...provider('ACME', 'https://id.acme.test', {
    SIGNET_PROVIDER_ACME_LOGO: file('acme.jpg', Buffer.concat([pngOf({ text: 'secret' }), Buffer.from('<script>')])),
  }),
};

testWithoutStore(
  'buttons of providers have their mark by issuer, or the file of the operator, from here, and the page stays small',
  { env },
  async ({ signet }) => {
    const page = await signet.newBrowser().get('/signin');
    const markOf = (id: string) =>
      new RegExp(`<a class="button quiet" id="signin-${id}"[^>]*>(?:<img class="mark" src="([^"]+)" alt="")?`).exec(
        page.text,
      )?.[1];
    assert.match(markOf('google') ?? '', /^\/assets\/mark-google-[0-9a-f]{12}\.svg$/);
    assert.match(markOf('work') ?? '', /^\/assets\/mark-microsoft-[0-9a-f]{12}\.svg$/);
    assert.match(markOf('acme') ?? '', /^\/assets\/provider-acme-[0-9a-f]{12}\.png$/);
    assert.ok(page.text.includes('id="signin-lookalike"'));
    assert.equal(markOf('lookalike'), undefined, 'another host has its label alone');
    for (const id of ['google', 'work', 'acme']) {
      const answer = await fetch(signet.url + markOf(id)!);
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
      assert.equal(answer.headers.get('content-type'), id === 'acme' ? 'image/png' : 'image/svg+xml');
      const text = await answer.text();
      assert.ok(!text.includes('secret') && !text.includes('script'));
    }
    const files = [...page.text.matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"/g)].map(
      ([, one = '']) => one,
    );
    assert.ok(
      files.every((one) => one.startsWith('/assets/')),
      files.join(),
    );
    let bytes = brotliCompressSync(page.text).length;
    for (const one of new Set(files.filter((path) => !/webauthn|passkey/.test(path)))) {
      bytes += brotliCompressSync(Buffer.from(await (await fetch(signet.url + one)).arrayBuffer())).length;
    }
    assert.ok(bytes < 12 * 1024, `${bytes} bytes`);
  },
);

test('a file for the button of a provider is a small square picture by its bytes', () => {
  const read = (logo: string) => {
    const settings = provider('ACME', 'https://id.acme.test', { SIGNET_PROVIDER_ACME_LOGO: logo });
    return readConfig({ SIGNET_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'), ...settings });
  };
  assert.equal(read(file('fine.png', pngOf({ width: 64, height: 64 }))).providers[0]?.label, 'acme');
  assert.throws(() => read(join(folder, 'none.png')), /SIGNET_PROVIDER_ACME_LOGO names a file that does not exist/);
  for (const wrong of [
    file('mark.png', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    file('wide.png', pngOf({ width: 64, height: 32 })),
    file('sides.png', pngOf({ width: 600, height: 600 })),
    file('heavy.png', pngOf({ width: 128, height: 128, level: 0 })),
  ]) {
    assert.throws(() => read(wrong), /SIGNET_PROVIDER_ACME_LOGO must name a PNG, JPEG or WebP file of at most 8 KB/);
  }
});
