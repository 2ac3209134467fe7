import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSignet } from '../support/signet.ts';

const path = '/.well-known/security.txt';

test('security.txt names whom to tell of a vulnerability, and its expiry renews itself', async (t) => {
  const signet = await startSignet(t, {
    env: { SIGNET_SECURITY_CONTACT: 'security@example.com, https://example.com/report' },
  });
  const browser = signet.newBrowser();
  const read = async () => {
    const { status, headers, text } = await browser.get(path);
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
    const fields = text.trimEnd().split('\n');
    assert.deepEqual(fields.slice(0, 2), [
      'Contact: mailto:security@example.com',
      'Contact: https://example.com/report',
    ]);
    const [, expires = ''] = /^Expires: (\S+)$/.exec(fields[2] ?? '') ?? [];
    assert.equal(fields.length, 3, 'no canonical address by http (RFC 9116 §2.5.2)');
    const days = (Date.parse(expires) - signet.clock()) / 86_400_000;
    assert.ok(days > 7 && days < 365, `${days} days`);
    return text;
  };
  const first = await read();
  signet.clock.advance(400 * 86_400);
  assert.notEqual(await read(), first);
});

test('on https, security.txt says where it belongs', async (t) => {
  const signet = await startSignet(t, {
    env: { SIGNET_BASE_URL: 'https://id.example.com', SIGNET_SECURITY_CONTACT: 'security@example.com' },
  });
  const { text } = await signet.newBrowser().get(`http://localhost:${signet.deps.config.port}${path}`);
  assert.match(text, /^Canonical: https:\/\/id\.example\.com\/\.well-known\/security\.txt$/m);
});

test('without a contact there is no security.txt', async (t) => {
  const signet = await startSignet(t);
  const { status, json } = await signet.newBrowser().get(path);
  assert.deepEqual([status, json?.error], [404, 'not_found']);
});
