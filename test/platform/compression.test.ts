import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { sendRaw } from '../support/raw-socket.ts';
import { startSignet } from '../support/signet.ts';

type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** As the bytes come, which `fetch` would decompress. */
const get = (url: string, headers: Record<string, string>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    httpRequest(url, { headers }, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      buffer(answer).then((body) => resolve({ status, headers, body }), reject);
    })
      .on('error', reject)
      .end();
  });

test('what is the same for everybody is compressed, and nothing else is', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const { stylesheets, scripts } = signet.deps.branding.look;
  const files = [stylesheets.card, stylesheets.area, scripts.passkeys!].map(({ path }) => path);
  const shared = [...files, '/openapi.json', '/.well-known/openid-configuration'];

  for (const path of shared) {
    const ask = (headers: Record<string, string>) => get(signet.url + path, headers);
    const plain = await ask({});
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.headers.vary, 'accept-encoding', 'a cache must not hand it to a client that accepts less');
    const brotli = await ask({ 'accept-encoding': 'gzip, deflate, br, zstd' });
    assert.equal(brotli.headers['content-encoding'], 'br', path);
    assert.deepEqual(brotliDecompressSync(brotli.body), plain.body);
    const gzip = await ask({ 'accept-encoding': 'gzip' });
    assert.equal(gzip.headers['content-encoding'], 'gzip', path);
    assert.deepEqual(gunzipSync(gzip.body), plain.body);
    assert.ok(brotli.body.length < plain.body.length * 0.6, `${path}: ${brotli.body.length} of ${plain.body.length}`);
    assert.equal(brotli.headers['content-type'], plain.headers['content-type']);
    assert.equal(brotli.headers['cache-control'], plain.headers['cache-control']);

    // RFC 9110 §8.8.3: other bytes, another tag.
    const tags = [plain, brotli, gzip].map(({ headers }) => headers.etag ?? '');
    assert.equal(new Set(tags).size, 3, String(tags));
    const again = await ask({ 'accept-encoding': 'br', 'if-none-match': `"x", W/${tags[1]}` });
    assert.deepEqual([again.status, again.headers.vary, again.body.length], [304, 'accept-encoding', 0]);
    assert.equal((await ask({ 'accept-encoding': 'br', 'if-none-match': tags[0]! })).status, 200);

    const codings = { 'br;q=0, gzip;q=0.5': 'gzip', '*': 'br', 'br;q=0,*': 'gzip', 'gzip;q=0': undefined };
    const refused = ['identity', '', 'zstd', 'br;q=zz', 'br;q=0', ';;;', '\xff', 'bro', '*;q=0'];
    const expected = { ...codings, ...Object.fromEntries(refused.map((header) => [header, undefined])) };
    for (const [header, coding] of Object.entries(expected)) {
      const { status, headers } = await ask({ 'accept-encoding': header });
      assert.deepEqual([status, headers['content-encoding']], [200, coding], `${path}: ${header}`);
    }
  }

  for (const path of ['/account', '/signin', '/v1/me', '/nothing', '/reference']) {
    const { headers } = await get(signet.url + path, { cookie, 'accept-encoding': 'br, gzip', accept: 'text/html' });
    assert.equal(headers['content-encoding'], undefined, path);
  }
});

test('a document that is answered before the routes is the one that its route answers', async (t) => {
  const signet = await startSignet(t);
  for (const path of ['openid-configuration', 'oauth-authorization-server', 'jwks.json']) {
    const url = `${signet.url}/.well-known/${path}`;
    const withoutTime = async (asked: string, headers: Record<string, string>) => {
      const answer = await get(asked, headers);
      delete answer.headers.date;
      return answer;
    };
    await get(url, {}); // compresses it
    for (const coding of ['br, gzip', 'gzip', 'identity', 'br;q=0, *', '', undefined]) {
      const headers = { origin: 'https://app.example', ...(coding !== undefined && { 'accept-encoding': coding }) };
      const before = await withoutTime(url, headers);
      assert.equal(before.status, 200);
      assert.deepEqual(before, await withoutTime(`${url}?`, headers), `${path}: ${coding}`); // has no such shortcut
    }
  }
  const port = Number(new URL(signet.url).port);
  const twoHosts = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\nHost: other.example\r\n\r\n';
  assert.match((await sendRaw(port, twoHosts)).text, /^HTTP\/1\.1 400 /);
});
