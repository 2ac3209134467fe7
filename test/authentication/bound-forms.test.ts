import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';

/** A page stays open in its tab while another account signs in in the next one: its forms do nothing to that account. */

type Form = { page: string; action: string; fields: Record<string, string> };

const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];

/** The forms that a page posts, with what it has filled in itself. */
async function formsOf(browser: Browser, page: string): Promise<Form[]> {
  const { status, text } = await browser.get(page);
  assert.equal(status, 200, `${page}: ${status}`);
  const forms = [...text.matchAll(/<form method="post"([^>]*)>(.*?)<\/form>/gs)];
  return forms.map(([, tag = '', content = '']) => {
    const named = [...content.matchAll(/<(?:input|button)\b[^>]*>/g)].map(([input]) => [
      attribute(input, 'name'),
      attribute(input, 'value') ?? '',
    ]);
    const fields = Object.fromEntries(named.filter(([name]) => name !== undefined));
    return { page, action: attribute(tag, 'action') ?? assert.fail(tag), fields };
  });
}

test('no form acts for another account than the one that its page was drawn for', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_GOOGLE_CLIENT_ID: 'x', SIGNET_GOOGLE_CLIENT_SECRET: 'y' } });
  const ada = await signet.signedInUser({ role: 'admin' });
  const bob = await signet.signedInUser({ role: 'admin' });
  const { browser } = ada;
  const client = await signet.registerClient({ owner: ada });
  const waiting = await signet.registerClient({ owner: bob, approved: false });
  const other = await signet.signedInUser();
  const own = `/developer/clients/${client.client_id}`;
  const pages = [
    '/account',
    '/account/email',
    '/account/email/change',
    '/account/delete',
    '/account/security/password',
    '/account/security/passkeys',
    '/account/security/totp',
    '/account/security/providers',
    '/account/sessions',
    '/signin/confirm',
    '/developer/register?kind=web&library=other',
    `${own}/edit`,
    `${own}/secrets`,
    `${own}/test`,
    `${own}/delete`,
    `/admin/users/${other.user_id}`,
    `/admin/clients/${waiting.client_id}`,
    '/admin/keys',
    '/admin/audit',
    '/admin/webhooks',
    '/admin/service-credentials',
  ];
  const forms = (await Promise.all(pages.map((page) => formsOf(browser, page)))).flat();
  const acting = forms.filter(({ action }) => action !== '/signout');
  assert.ok(new Set(acting.map(({ page }) => page)).size > 15, 'pages with forms');
  for (const { page, action, fields } of acting) assert.equal(fields.drawn_for, ada.user_id, `${page} ${action}`);

  assert.equal((await bob.with({ browser }).signIn()).status, 303);
  const before = (await signet.auditLog()).length;
  for (const { page, action, fields } of acting) {
    const answer = await browser.post(action, { ...fields, email: bob.email, name: 'Ada', password: 'words in a row' });
    assert.equal(answer.status, 409, `${page} ${action}: ${answer.text}`);
    assert.match(answer.text, sentence('refusal.other_account'));
    assert.match(answer.text, /id="way-back" href="\/account"/);
  }
  assert.equal((await signet.auditLog()).length, before, 'nothing was done');
  const german = await browser.post('/account/delete', { drawn_for: ada.user_id }, { 'accept-language': 'de' });
  assert.match(german.text, sentence('refusal.other_account', {}, 'de'));
  const me = (await browser.get('/v1/me')).json;
  assert.deepEqual([me?.user_id, me?.name === 'Ada'], [bob.user_id, false]);
  // No form leads to the API, where the field means nothing.
  const unlocked = await browser.post(`/v1/admin/users/${bob.user_id}/unlock`, { drawn_for: ada.user_id });
  assert.deepEqual([unlocked.status, unlocked.json?.error], [400, 'invalid_request']);

  // Drawn anew it is Bob's; and what programs send without the field is what they mean.
  const [anew] = (await formsOf(browser, '/account')).filter(({ action }) => action === '/account');
  assert.equal(anew?.fields.drawn_for, bob.user_id);
  assert.equal((await browser.post('/account', { ...anew?.fields, name: 'Bob' })).status, 303);
  assert.equal((await browser.post('/account', { name: 'Robert' })).status, 303);
  assert.equal((await browser.get('/v1/me')).json?.name, 'Robert');
});

test('pages without a session name no user', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  for (const page of ['/signin?stay=1', '/signup?stay=1', '/reset']) {
    for (const { fields } of await formsOf(user.browser, page)) assert.equal(fields.drawn_for, undefined, page);
  }
});
