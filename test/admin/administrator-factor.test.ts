import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';

const days = (count: number) => count * 86_400;

test('where administrators need a second factor, one without it is led to set one up', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_ADMIN_SECOND_FACTOR: 'on' } });
  const admin = await signet.signedInUser({ role: 'admin' });
  assert.equal((await admin.browser.get('/admin')).status, 200, 'a new administrator has seven days');
  const security = async () => (await admin.browser.get('/account/security')).text;
  assert.match(await security(), sentence('security.admin_due_from'));
  signet.clock.advance(days(7) - 1);
  await admin.signIn();
  assert.equal((await admin.browser.get('/admin')).status, 200);
  signet.clock.advance(1);
  const page = await admin.browser.get('/admin', { accept: 'text/html' });
  assert.equal(page.status, 403);
  assert.match(page.text, sentence('error.second_factor_needed'));
  assert.match(page.text, /id="way-back" href="\/account\/security"/);
  const api = await admin.browser.get('/v1/admin/users');
  assert.deepEqual([api.status, api.json?.error], [403, 'access_denied']);
  assert.match(await security(), sentence('security.admin_due'));

  await admin.enableTotp();
  assert.equal((await admin.browser.get('/admin')).status, 200);
  assert.doesNotMatch(await security(), sentence('security.admin_due'));
});

test('from the day that the operator has chosen, and not before', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_ADMIN_SECOND_FACTOR: '2027-02-01' } });
  const admin = await signet.signedInUser({ role: 'admin' });
  const { browser } = await signet.signedInUser();
  assert.doesNotMatch((await browser.get('/account/security')).text, sentence('security.admin_due_from'));
  signet.clock.advance(Date.parse('2027-02-01') / 1000 - signet.clock() / 1000 - 1);
  await admin.signIn();
  assert.equal((await admin.browser.get('/admin')).status, 200);
  signet.clock.advance(1);
  assert.equal((await admin.browser.get('/admin')).status, 403);
});
