import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message, pattern, sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';

// What the pages with a navigation have in common.

const headerOf = (page: string) => /<header.*?<\/header>/s.exec(page)?.[0] ?? '';
const crumbsOf = (page: string) => /<nav class="above".*?<\/nav>/s.exec(page)?.[0] ?? '';

test('the frame of a page says who is signed in, what waits, and leads to every area', async (t) => {
  const signet = await startSignet(t);
  const administrator = await signet.signedInUser({ role: 'admin', name: 'Olivia <Hart>mann' });
  const owner = await signet.signedInUser({ name: 'Priya Raghunathan' });
  const client = await signet.registerClient({ owner, name: 'Quarry', approved: false });

  await t.test('who is signed in, with the areas that they may enter', async () => {
    const header = headerOf((await owner.browser.get('/account')).text);
    assert.match(header, /PR<\/span> <bdi>Priya Raghunathan<\/bdi>/);
    assert.ok(header.includes(owner.email));
    assert.match(header, /href="\/account">.*href="\/developer">/s);
    assert.doesNotMatch(header, /\/admin/);
    assert.match(header, /action="\/signout"/);
    const menu = headerOf((await administrator.browser.get('/admin')).text);
    assert.match(menu, /href="\/admin">/);
    assert.match(menu, /<bdi>Olivia &lt;Hart&gt;mann<\/bdi>/);
  });

  await t.test('the logo leads to the area, and a page below leads up', async () => {
    const [account, admin, developer] = await Promise.all([
      owner.browser.get('/account/security/password'),
      administrator.browser.get(`/admin/clients/${client.client_id}`),
      owner.browser.get(`/developer/clients/${client.client_id}/secrets`),
    ]);
    assert.match(headerOf(account.text), /^<header class="brand"><a href="\/account">/);
    assert.match(headerOf(admin.text), /^<header class="brand"><a href="\/admin">/);
    assert.match(headerOf(developer.text), /^<header class="brand"><a href="\/developer">/);
    assert.match(crumbsOf(account.text), pattern`href="/account/security">${sentence('account.tab.security')}`);
    assert.match(crumbsOf(admin.text), pattern`href="/admin/clients">${sentence('admin.tab.clients')}`);
    assert.match(crumbsOf(developer.text), /href="\/developer">.*clients\/cl_[\w-]+"><bdi>Quarry/);
    for (const path of ['/account', '/account/security', '/account?done=yes']) {
      assert.equal(crumbsOf((await owner.browser.get(path)).text), '', path);
    }
  });

  await t.test('the navigation counts what waits', async () => {
    signet.clock.advance(1);
    assert.match((await administrator.browser.get('/admin/users')).text, sentence('layout.waiting', { count: 1 }));
    const body = { revision: 1, consent: 'required' };
    const approved = await administrator.browser.postJson(`/v1/admin/clients/${client.client_id}/approve`, body);
    assert.equal(approved.status, 200, approved.text);
    signet.clock.advance(1);
    const { text } = await administrator.browser.get('/admin/users');
    assert.doesNotMatch(text, sentence('layout.waiting', { count: 1 }));
  });

  await t.test('another language is chosen for good, and one is back on the same page', async () => {
    const { text } = await owner.browser.get('/account/apps?ui_locales=en&done=x');
    const next = /name="next" value="([^"]*)"/.exec(headerOf(text))?.[1] ?? '';
    assert.equal(next, '/account/apps');
    const answer = await owner.browser.post('/account/language', { locale: 'de', next });
    assert.deepEqual([answer.status, answer.location], [303, next]);
    assert.match((await owner.elsewhere().browser.get('/signin')).text, /<html lang="en">/);
    assert.match((await owner.browser.get(next)).text, /<html lang="de">/);
    for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      assert.equal((await owner.browser.post('/account/language', { locale: 'en', next })).location, '/account');
    }
    assert.equal((await owner.browser.post('/account/language', { locale: 'xx' })).status, 400);
    const foreign = { origin: 'https://evil.example' };
    assert.equal((await owner.browser.post('/account/language', { locale: 'de' }, foreign)).status, 403);
    const drawn_for = administrator.user_id;
    assert.equal((await owner.browser.post('/account/language', { locale: 'de', drawn_for })).status, 409);
    assert.equal((await owner.browser.get('/v1/me')).json?.locale, 'en');
  });

  await t.test('a date is that of the reader, with the exact time in UTC beside it', async () => {
    const timesOf = async (path: string, language: string) => {
      const { text, headers } = await owner.browser.get(path, { 'accept-language': language });
      assert.match(text, /<script src="\/assets\/local-times-[\da-f]+\.js" defer>/);
      assert.match(headers.get('content-security-policy') ?? '', /script-src 'self';/);
      return text;
    };
    const iso = 'datetime="2027-01-15T08:00:00.000Z" title="2027-01-15 08:00:00 UTC"';
    const account = (language: string) => timesOf('/account', language);
    assert.ok((await account('en-GB,en;q=0.9')).includes(`<time ${iso} data-time="day">15 January 2027</time>`));
    assert.ok((await account('en-US')).includes(`<time ${iso} data-time="day">January 15, 2027</time>`));
    assert.ok((await account('en-*,en-\u00e4\u00e4,en-x-y')).includes('>January 15, 2027</time>'));
    assert.match(await timesOf('/account/sessions', 'en'), new RegExp(`<time ${iso}>just now</time>`));
    assert.doesNotMatch((await owner.browser.get('/account/security/password')).text, /local-times/);
  });

  await t.test(
    'a refused form says so in the title, leads to its fields, and has the focus on what is wrong',
    async () => {
      const stranger = signet.newBrowser();
      const titleOf = ({ text }: { text: string }) => /<title>(.*?)<\/title>/.exec(text)?.[1];
      const refused = await owner.browser.post('/account', { name: '', picture: 'http://x', locale: 'en' });
      assert.equal(refused.status, 400);
      const error = message('layout.error', { title: message('account.title') });
      assert.equal(titleOf(refused), `${error} - Signet`);
      assert.match(refused.text, /<li><a href="#name">.*<\/li>.*<li><a href="#picture">/s);
      assert.match(refused.text, /<input id="name" [^>]*aria-invalid="true" autofocus[ >]/);
      assert.equal(refused.text.match(/\sautofocus/g)?.length, 1);
      const read = await owner.browser.get('/account?done=yes');
      assert.equal(titleOf(read), `${message('account.title')} - Signet`);
      assert.match(read.text, /<div class="notice" role="status" tabindex="-1" autofocus>/);
      const wrong = await stranger.post('/signin', { username: owner.email, password: 'wrong words in a row' });
      assert.match(wrong.text, /<input id="password" [^>]*autofocus/);
      assert.doesNotMatch(wrong.text, /tabindex="-1"/);
    },
  );

  await t.test('what asks without having read a page finds the icon and the page of the password', async () => {
    const stranger = signet.newBrowser();
    const icon = await stranger.get('/favicon.ico');
    assert.deepEqual([icon.status, icon.headers.get('cache-control')], [302, 'public, max-age=86400']);
    assert.equal((await stranger.get(icon.location)).headers.get('content-type'), 'image/svg+xml');
    const password = await stranger.get('/.well-known/change-password');
    assert.deepEqual([password.status, password.location], [302, '/account/security/password']);
  });
});
