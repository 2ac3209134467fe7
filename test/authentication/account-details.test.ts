import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { type TestContext, test } from 'node:test';
import { findUser } from '../../src/accounts/store.ts';
import { accountOf } from '../../src/authentication/federation/upstream-account.ts';
import { createCredential } from '../../src/entitlements/service-credentials/manage-credential.ts';

import { linkIn } from '../support/mailbox.ts';
import { pattern, sentence } from '../support/messages.ts';
import { passkeysOf } from '../support/passkeys.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { totpAt, wrongCode } from '../support/two-factor.ts';

const phrase = 'harbour velvet cactus ninety';

/** What an HTTP client sends that says how a body is written, and has none. */
async function postNothing({ url }: Signet, { browser }: TestUser, path: string, headers: Record<string, string>) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(new URL(path, url), { method: 'POST', headers: { cookie, origin: url, ...headers } });
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end();
  });
}

test('specification 4.14: what takes no body takes none, whatever its content type', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'application/octet-stream'];
  for (const type of types) {
    for (const [framing, value] of [
      ['content-length', '0'],
      ['transfer-encoding', 'chunked'],
    ] as const) {
      const headers = { 'content-type': type, [framing]: value };
      const status = await postNothing(signet, user, '/v1/me/2fa/totp/enroll', headers);
      assert.equal(status, 200, `${type} ${framing}`);
    }
  }
  const administrator = await signet.signedInUser({ role: 'admin' });
  for (const type of types) {
    const headers = { 'content-type': type, 'content-length': '0' };
    assert.equal(await postNothing(signet, administrator, '/v1/admin/audit/verify', headers), 200, type);
    assert.equal(await postNothing(signet, user, '/v1/me/2fa/totp/confirm', headers), 400, `${type} and a body is due`);
  }
  const sent = await user.browser.send('/v1/me/2fa/totp/confirm', {
    method: 'POST',
    body: 'code=123456',
    headers: { origin: signet.url, 'content-type': 'text/plain' },
  });
  assert.deepEqual([sent.status, sent.json?.error_description], [400, 'The body must be application/json.']);
});

testSignet('every name is stored in one composed form, by whichever way it came', async ({ signet }) => {
  const [typed, kept] = [' Ame\u0301lie ', 'Am\u00e9lie'];
  const { user_id } = await signet.newUser({ name: typed });
  assert.equal((await findUser(signet.deps.db, user_id))?.name, kept);
  const user = await signet.signedInUser();
  await user.addPasskey(undefined, typed);
  assert.equal((await passkeysOf(user))[0]?.name, kept);
  const terms = { name: typed, permissions: ['tokens:introspect'], products: [] };
  const { credential } = await createCredential(signet.deps, { actor: 'cli' }, terms);
  assert.equal(credential.name, kept);
  const provider = { issuer: 'https://acme.example' } as Parameters<typeof accountOf>[0];
  assert.equal(accountOf(provider, { sub: 's', name: typed }).name, kept);
});

testSignet('NO-01: the log says who signed up, and from where', { mail: true }, async ({ signet, mailbox }) => {
  const browser = signet.newBrowser();
  await browser.post('/signup', { email: 'new@example.com' });
  const path = linkIn(await mailbox.next('new@example.com'), /^\/signup\/./);
  assert.equal((await browser.post(path, { name: 'Ada', password: phrase })).status, 303);
  const user_id = String((await browser.get('/v1/me')).json?.user_id);
  const [created] = await signet.auditLog({ target: user_id, action: 'user.created' });
  assert.equal(created?.actor, `user:${user_id}`);
  assert.match(created?.address ?? '', /127\.0\.0\.1|::1/);
});

testSignet('PW-03: a password that was replaced within the same second is refused', async ({ signet }) => {
  const user = await signet.signedInUser();
  const thief = user.elsewhere();
  const held = holdNextCall(signet.deps.db, /insert into sessions/);
  const entering = thief.signIn();
  await held.reached;
  assert.equal((await user.browser.postJson('/v1/me/password', { password: phrase })).status, 204);
  held.release();
  assert.equal((await entering).status, 401);
  assert.ok(!thief.browser.cookies.has('signet_identity_session'));
});

async function waitingForCode(t: TestContext, env: Record<string, string> = {}) {
  const signet = await startSignet(t, { env });
  const owner = await signet.signedInUser();
  const app = await owner.enableTotp();
  const other = owner.elsewhere();
  assert.equal((await other.signIn()).location, '/signin/second-factor');
  return { signet, other, app };
}

test('the second step asks for digits by a numeric keyboard, and for a backup code by another field', async (t) => {
  const { signet, other, app } = await waitingForCode(t, { SIGNET_LIMIT_CODES_PER_SIGN_IN: '3' });
  const { browser } = other;
  const page = await browser.get('/signin/second-factor');
  assert.match(page.text, /autocomplete="one-time-code" inputmode="numeric"/);
  assert.match(page.text, /href="\/signin\/second-factor\?backup=1"/);
  const backup = await browser.get('/signin/second-factor?backup=1');
  assert.match(backup.text, pattern`${sentence('field.backup_code')}</label>`);
  assert.doesNotMatch(backup.text, /one-time-code|numeric/);

  const wrong = await browser.post('/signin/second-factor', { code: 'nothing', backup: '1' });
  assert.equal(wrong.status, 401);
  assert.match(wrong.text, pattern`${sentence('field.backup_code')}</label>`, 'still the field that was used');
  await other.giveCode(wrongCode(signet, app.secret));
  const over = await other.giveCode(wrongCode(signet, app.secret));
  assert.match(over.text, sentence('second_factor.over', { max: 3 }));

  await other.signIn();
  const answer = await browser.post('/signin/second-factor', { code: app.backup_codes[0] ?? '', backup: '1' });
  assert.equal(answer.location, '/account');
});

test('a reload of the page with new backup codes is no error', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  const path = '/account/security/totp';
  await browser.post(`${path}/enroll`);
  const secret = /id="totp-secret">([A-Z2-7 ]+)</.exec((await browser.get(path)).text)?.[1]?.replaceAll(' ', '') ?? '';
  const code = totpAt(secret, signet.clock() / 1000);
  assert.match((await browser.post(`${path}/confirm`, { code })).text, /id="backup-codes"/);
  signet.clock.advance(120);
  const again = await browser.post(`${path}/confirm`, { code });
  assert.equal(again.location, `${path}?done=on`);
  const page = await browser.get(again.location);
  assert.match(page.text, pattern`role="status" tabindex="-1" autofocus><p>${sentence('totp.already_on')}`);
  assert.doesNotMatch(page.text, /role="alert"/);
  const other = await browser.post(`${path}/confirm`, { code: '123456' });
  assert.deepEqual([other.status, /role="alert"/.test(other.text)], [409, true]);
});

test('the field for a new password is called that where there is an old one', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  assert.match(
    (await browser.get('/account/security/password')).text,
    pattern`<label for="password">${sentence('field.new_password')}</label>`,
  );
});

testSignet('specification 2.1: a picture is set by its address, and released with the profile', async ({ signet }) => {
  const user = await signet.signedInUser();
  const { browser } = user;
  const client = await signet.registerClient();
  const { access_token } = await user.obtainTokens(client, { scope: 'openid profile' });
  const picture = 'https://pictures.example.com/ada.jpg?size=96';
  const patch = (body: unknown) => browser.patch('/v1/me', body);
  const pictureClaim = async () => (await signet.userinfo(access_token)).json?.picture;

  assert.equal((await patch({ picture })).json?.picture, picture);
  assert.equal(await pictureClaim(), picture);
  for (const bad of [
    'http://pictures.example.com/a.jpg',
    'javascript:alert(1)',
    'https://192.0.2.1/a.jpg',
    'https://localhost/a.jpg',
    'https://user:secret@example.com/a.jpg',
    `https://example.com/${'a'.repeat(2048)}`,
    '',
    7,
  ]) {
    const answer = await patch({ picture: bad });
    assert.equal(answer.status, 400, String(bad));
    assert.match(answer.text, /"fields":\[\{"path":"picture"/, String(bad));
  }
  assert.equal(await pictureClaim(), picture, 'nothing was changed');

  const profile = { name: 'Ada', locale: '' };
  const refused = await browser.post('/account', { ...profile, picture: 'ftp://x' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /value="ftp:\/\/x"/);
  const page = await browser.get('/account');
  assert.match(page.text, /id="picture"[^>]*value="https:\/\/pictures\.example\.com\/ada\.jpg\?size=96"/s);
  assert.doesNotMatch(page.text, /src="https:\/\/pictures/, 'no page of ours asks another server for it');
  assert.equal((await browser.post('/account', { ...profile, picture })).location, '/account?done=yes');
  assert.equal(await pictureClaim(), picture);
  assert.equal(
    (await browser.post('/account', { ...profile, picture: '', picture_field: 'on' })).location,
    '/account?done=yes',
  );
  assert.equal(await pictureClaim(), undefined);
  await patch({ picture });
  assert.equal((await patch({ picture: null })).json?.picture, null);
});
