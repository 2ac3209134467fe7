import assert from 'node:assert/strict';
import { test } from 'node:test';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { locales } from '../../src/platform/i18n/translate.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { pattern, sentence } from '../support/messages.ts';
import { passkeyOptions, postAssertion } from '../support/passkeys.ts';
import { redirectedTo } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';
import { codesOf } from '../support/two-factor.ts';
import { signInUpstream } from '../support/upstream.ts';

const days = (count: number) => count * 86_400;
const html = { accept: 'text/html' };
const secretIn = (text: string) => /id="totp-secret">([A-Z2-7 ]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? '';

test('where everyone needs a second factor, who has none sets one up during the sign-in', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SECOND_FACTOR: 'required' }, mail: true });
  const owner = await signet.signedInUser();
  await owner.enableTotp(); // by the API, which lets in who has to set one up
  const client = await signet.registerClient({ owner });
  const begin = async (browser = signet.newBrowser()) => {
    const asked = await browser.get(client.authorizePath());
    return { browser, request: redirectedTo(asked).get('request')! };
  };

  await t.test(
    'with an app, without a script: backup codes, the mail and the event, and on to the client',
    async () => {
      const user = await signet.newUser();
      const { browser, request } = await begin();
      const signedIn = await user.with({ browser }).signIn({ request });
      const path = `/signin/set-up?request=${request}`;
      assert.equal((await browser.get(signedIn.location)).location, path);
      assert.match((await browser.get(path)).text, sentence('set_up.why'));
      assert.equal((await browser.post('/signin/set-up/enroll', { request })).location, path);
      const secret = secretIn((await browser.get(path)).text);
      const wrong = await browser.post('/signin/set-up/confirm', { request, code: '12' });
      assert.equal(wrong.status, 400);
      assert.match(wrong.text, sentence('totp.wrong'));
      const form = { request, code: codesOf(signet, secret)() };
      const codes = await browser.post('/signin/set-up/confirm', form);
      assert.match(codes.text, sentence('backup_codes.new.once'));
      assert.match(
        codes.text,
        pattern`id="backup-codes-done" href="/oauth/authorize/continue\?request=${new RegExp(request)}"`,
      );
      assert.equal(
        (await browser.post('/signin/set-up/confirm', form)).location,
        `/oauth/authorize/continue?request=${request}`,
      );
      const code = redirectedTo(await browser.get(`/oauth/authorize/continue?request=${request}`)).get('code')!;
      assert.equal((await client.redeem(code)).status, 200);
      assert.equal((await signet.auditLog({ action: 'totp.confirmed', target: user.user_id })).length, 1);
      await signet.mailbox.next(user.email);
      const again = await user.awaitingSecondFactor();
      assert.notEqual((await again.browser.get('/v1/me')).status, 200);
    },
  );

  await t.test('with a passkey, which is asked for at once', async () => {
    const user = await signet.newUser();
    const { browser, request } = await begin();
    await user.with({ browser }).signIn({ request });
    const authenticator = newAuthenticator(signet.url);
    const credential = authenticator.create(await passkeyOptions(browser, '/signin/set-up/passkey'));
    const added = await postAssertion(browser, '/signin/set-up/passkey', credential, { request, name: 'Phone' });
    assert.equal((await browser.get(added.location)).location, `/signin/confirm?request=${request}`);
    const page = await browser.get(`/signin/confirm?request=${request}`);
    assert.match(page.text, sentence('confirm.passkey'));
    assert.doesNotMatch(page.text, sentence('confirm.decline'));
    const confirm = '/signin/confirm/passkey';
    const used = await postAssertion(browser, confirm, authenticator.get(await passkeyOptions(browser, confirm)), {
      request,
    });
    assert.ok(redirectedTo(await browser.get(used.location)).get('code'));

    // The password alone neither suffices afterwards, nor adds another factor.
    const other = await user.signedInElsewhere();
    assert.equal((await other.browser.get('/account', html)).location, '/signin/confirm?next=%2Faccount');
    assert.match((await other.browser.get('/signin/set-up', html)).location, /^\/signin\/confirm\?/);
    const enroll = await other.browser.postEmpty('/v1/me/2fa/totp/enroll');
    assert.deepEqual([enroll.status, enroll.json?.acr_values], [403, twoFactors]);
  });

  await t.test('before that no page, no API and no code, whatever the browser asks for', async () => {
    const user = await signet.signedInUser();
    const { browser } = user;
    for (const path of ['/account', '/account/sessions', '/developer']) {
      assert.equal((await browser.get(path, html)).location, `/signin/set-up?next=${encodeURIComponent(path)}`);
    }
    for (const path of ['/v1/me', '/v1/me/entitlements', '/v1/me/sessions']) {
      const { status, json } = await browser.get(path);
      assert.deepEqual([status, json?.error, json?.acr_values], [403, 'reauthentication_required', twoFactors], path);
    }
    assert.equal((await browser.postEmpty('/v1/me/2fa/backup-codes')).status, 403);
    assert.equal(
      redirectedTo(await browser.get(client.authorizePath({ prompt: 'none' }))).get('error'),
      'login_required',
    );
    const { request } = await begin(browser);
    const declined = `/oauth/authorize/continue?request=${request}&step_up=declined&user=${user.user_id}`;
    assert.equal(redirectedTo(await browser.get(declined)).get('error'), 'access_denied');
    signet.clock.advance(901);
    assert.match((await browser.get('/signin/set-up', html)).location, /^\/signin\/confirm\?next=%2Fsignin%2Fset-up/);
    const late = await browser.post('/signin/set-up/enroll', {}, html);
    assert.match(late.location, /^\/signin\/confirm\?/, 'a first factor of long ago adds none');
    assert.equal((await browser.post('/signout')).location, '/signed-out');
  });
});

test('who has come from a provider, and has no password, reads of none', async (t) => {
  for (const SIGNET_SECOND_FACTOR of ['required', 'optional']) {
    const { signet } = await startFederatedSignet(t, { env: { SIGNET_SECOND_FACTOR } });
    const browser = signet.newBrowser();
    const { answer } = await signInUpstream(browser, '/auth/acme/login?next=/account/security');
    const arrived = await browser.get(answer.location, html);
    const assertSilent = async (path: string) => {
      for (const language of locales) {
        const { status, text } = await browser.get(path, { ...html, 'accept-language': language });
        assert.equal(status, 200, path);
        assert.match(text, new RegExp(`<html lang="${language}"`));
        assert.doesNotMatch(text, /(your|the) password|(Ihre?m?|dem|zum) Passwort/, `${path} in ${language}`);
      }
    };
    const pages = ['/account/security', '/account/security/totp'];
    if (SIGNET_SECOND_FACTOR === 'required') {
      assert.equal(arrived.location, '/signin/set-up?next=%2Faccount%2Fsecurity');
      await assertSilent(arrived.location);
      await browser.post('/signin/set-up/enroll', { next: '/account/security' });
      await assertSilent(arrived.location);
      const secret = secretIn((await browser.get(arrived.location)).text);
      await browser.post('/signin/set-up/confirm', { next: '/account/security', code: codesOf(signet, secret)() });
      pages.push('/account/security/totp/disable');
    }
    for (const path of pages) await assertSilent(path);
  }
});

test('a set-up that is sent too late keeps where it leads', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SECOND_FACTOR: 'required' } });
  const user = await signet.signedInUser();
  const { browser } = user;
  const next = '/developer?tab=a&b=c';
  const path = `/signin/set-up?${new URLSearchParams({ next })}`;
  assert.equal((await browser.get(path)).status, 200);
  signet.clock.advance(901);
  const late = await browser.post('/signin/set-up/enroll', { next }, html);
  const [confirm, query] = late.location.split('?');
  assert.equal(confirm, '/signin/confirm');
  const back = new URLSearchParams(query).get('next') ?? '';
  assert.equal(back, `${path}&unfinished=1`);
  const { password } = user;
  const confirmed = await browser.post('/signin/confirm', { username: user.email, password, next: back });
  assert.equal(confirmed.location, back);
  const page = await browser.get(back);
  assert.match(page.text, sentence('layout.not_submitted'));
  assert.match(page.text, pattern`name="next" value="/developer\?tab=a&amp;b=c"`);
  const authenticator = newAuthenticator(signet.url);
  const credential = authenticator.create(await passkeyOptions(browser, '/signin/set-up/passkey'));
  const added = await postAssertion(browser, '/signin/set-up/passkey', credential, { next, name: 'Phone' });
  assert.equal(added.location, next);
  // Another origin is no place to lead to, here as anywhere.
  signet.clock.advance(901);
  const evil = await browser.post('/signin/set-up/enroll', { next: 'https://evil.example/' }, html);
  const after = new URLSearchParams(evil.location.split('?')[1]).get('next') ?? '';
  assert.ok(after.startsWith('/signin/set-up?'), after);
});

test('where administrators need a second factor, one without it is led to set one up', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_ADMIN_SECOND_FACTOR: 'on' } });
  const admin = await signet.signedInUser({ role: 'admin' });
  const { browser } = admin;
  const soon = await browser.get('/admin');
  assert.equal(soon.status, 200, 'a new administrator has seven days');
  assert.match(soon.text, sentence('layout.admin_factor_due'));
  const security = async () => (await browser.get('/account/security')).text;
  assert.match(await security(), sentence('security.admin_due_from'));
  signet.clock.advance(days(7) - 1);
  await admin.signIn();
  assert.equal((await browser.get('/admin')).status, 200);
  signet.clock.advance(1);
  assert.equal((await browser.get('/admin', html)).location, '/signin/set-up?next=%2Fadmin');
  assert.match((await browser.get('/signin/set-up?next=%2Fadmin')).text, sentence('set_up.why'));
  const api = await browser.get('/v1/admin/users');
  assert.deepEqual([api.status, api.json?.error], [403, 'reauthentication_required']);
  assert.match(await security(), sentence('security.admin_due'));

  await admin.enableTotp();
  assert.equal((await browser.get('/signin/set-up?next=%2Fadmin')).location, '/admin');
  assert.equal((await browser.get('/admin')).status, 200);
  assert.doesNotMatch(await security(), sentence('security.admin_due'));
});

test('from the day that the operator has chosen, and not before', async (t) => {
  const signet = await startSignet(t, {
    env: { SIGNET_ADMIN_SECOND_FACTOR: '2027-02-01', SIGNET_SECOND_FACTOR: '2027-03-01' },
  });
  const admin = await signet.signedInUser({ role: 'admin' });
  const { browser } = await signet.signedInUser();
  assert.doesNotMatch((await browser.get('/account/security')).text, sentence('security.admin_due_from'));
  assert.match((await browser.get('/account')).text, sentence('layout.second_factor_due'));
  const early = await browser.get('/signin/set-up?next=%2Faccount%2Fapps');
  assert.match(early.text, sentence('set_up.why.soon'));
  assert.match(early.text, /id="set-up-not" href="\/account\/apps"/);
  assert.equal((await browser.get('/v1/me')).status, 200);
  signet.clock.advance(Date.parse('2027-02-01') / 1000 - signet.clock() / 1000 - 1);
  await admin.signIn();
  assert.equal((await admin.browser.get('/admin')).status, 200);
  signet.clock.advance(1);
  assert.match((await admin.browser.get('/admin')).location, /^\/signin\/set-up\?/);
});
