import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routesOf } from '../support/routes.ts';
import { startSignet } from '../support/signet.ts';

test('every page tells other sites nothing of itself, and says so in the same headers', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { browser } = await signet.signedInUser({ role: 'admin' });
  let pages = 0;
  for (const { path, methods } of await routesOf(signet.app, signet.url)) {
    if (!methods.includes('GET')) continue;
    const { headers } = await browser.get(path.replace(/:\w+/g, 'x'), { accept: 'text/html' });
    if (headers.get('content-type') !== 'text/html; charset=utf-8') continue;
    pages += 1;
    assert.equal(headers.get('referrer-policy'), 'same-origin', path);
    assert.equal(headers.get('x-frame-options'), 'DENY', path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; base-uri 'none'$/, path);
  }
  assert.ok(pages > 75, `${pages} pages`);
});

test('no answer has the browser empty its cache, which holds what other sites have put there', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ post_logout_redirect_uris: ['https://rp.test/bye'] });
  const answers = [];
  const leaver = await signet.signedInUser();
  answers.push(await leaver.browser.post('/signout'));
  const user = await signet.signedInUser();
  const { id_token } = await user.obtainTokens(client);
  answers.push(await user.browser.get(`/oauth/logout?${new URLSearchParams({ id_token_hint: id_token })}`));
  const gone = await signet.signedInUser();
  answers.push(await gone.browser.post('/account/delete', { email: gone.email }));
  const deleted = await signet.signedInUser();
  answers.push(await deleted.browser.delete('/v1/me', { email: deleted.email }));
  for (const { status, headers } of answers) {
    assert.ok(status === 303 || status === 204, String(status));
    assert.match(headers.getSetCookie().join(), /_identity_session=; Max-Age=0/);
    assert.equal(headers.get('clear-site-data'), null);
  }
});
