import assert from 'node:assert/strict';
import { locales } from '../../src/platform/i18n/translate.ts';
import { message, sentence } from '../support/messages.ts';
import { withRole } from '../support/roles.ts';
import { testSignet } from '../support/signet.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };

const linksIn = (text: string): string[] =>
  [...(text.split('<main id="main">')[1] ?? '').matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);

testSignet('one search finds people, clients and pages of the console', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  const owner = await signet.signedInUser({ name: 'Webster Hale', email: 'w.hale@example.com' });
  const client = await signet.registerClient({ owner, name: 'Web shop' });
  const find = async (q: string) =>
    linksIn((await admin.browser.get(`/admin/search?${new URLSearchParams({ q })}`)).text);
  const found = await find('web');
  for (const path of [`/admin/users/${owner.user_id}`, `/admin/clients/${client.client_id}`, '/admin/webhooks'])
    assert.ok(found.includes(path), `${path} in ${found}`);
  assert.ok(!found.includes('/admin/keys'));
  assert.deepEqual((await find(owner.user_id)).slice(1, 3), [
    `/admin/users/${owner.user_id}`,
    `/admin/clients/${client.client_id}`,
  ]);
  assert.ok((await find('W.Hale@example.com')).includes(`/admin/users/${owner.user_id}`));
  assert.deepEqual(await find('  '), await find(''));
  assert.ok((await find('')).includes('/admin/settings'));
  const none = await admin.browser.get('/admin/search?q=xyzzy%22%3E');
  assert.match(none.text, sentence('admin.find.none', { query: '<q><bdi>xyzzy&quot;&gt;</bdi></q>' }));
  assert.match(none.text, /id="jump"[^>]* value="xyzzy&quot;&gt;"/, 'to be changed');
  const user = await signet.signedInUser();
  assert.equal((await user.browser.get('/admin/search?q=web')).status, 403);
  assert.doesNotMatch((await user.browser.get('/account')).text, /id="jump"/);
});

testSignet('a setting is found by its name and by what it is for, with its value and its place', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const find = async (q: string, locale = 'en') =>
    (await admin.browser.get(`/admin/search?${new URLSearchParams({ q, ui_locales: locale })}`)).text;
  const signUp = '/admin/settings/SIGNET_SIGN_UP';
  assert.ok(linksIn(await find('sign_up')).includes(signUp));
  assert.ok(linksIn(await find('SIGNET_SIGN_UP')).includes(signUp));
  const bySign = linksIn(await find('sign'));
  assert.ok(bySign.includes(signUp));
  assert.ok(!bySign.includes('/admin/settings#SIGNET_PORT'), 'all of them begin with our name');
  const byWords = await find('create accounts');
  assert.ok(linksIn(byWords).includes(signUp));
  assert.match(byWords, /<bdi>on<\/bdi> \(Default\)/);
  assert.match(byWords, sentence('admin.settings.where'));
  assert.ok(linksIn(await find('selbst Konto', 'de')).includes(signUp), 'in the language of the reader');
  const limits = await find('signet_limit_password');
  assert.equal(linksIn(limits).filter((path) => path.startsWith('/admin/settings#SIGNET_LIMIT_')).length, 5);
  assert.match(limits, /id="search-settings" href="\/admin\/settings"/, 'there are more');
  const { text: page } = await admin.browser.get('/admin/settings');
  for (const link of linksIn(limits).filter((path) => path.includes('#')))
    assert.match(page, new RegExp(`id="${link.split('#')[1]}"`), link);
  assert.doesNotMatch(await find('create accounts xyzzy'), /SIGNET_SIGN_UP/);
  const support = await withRole(signet, 'support');
  const { text } = await support.browser.get('/admin/search?q=sign_up');
  assert.match(text, sentence('admin.search.title'));
  assert.doesNotMatch(text, /SIGNET_SIGN_UP/, 'a role that may not read settings');
});

testSignet('a search lists a few of each kind, and where the others are', { env }, async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  const owner = await signet.signedInUser({ name: 'Ada' });
  for (let place = 0; place < 6; place += 1) {
    await signet.newUser({ name: `Grace Number${place}` });
    await signet.registerClient({ owner, name: `Grace's app ${place}` });
  }
  const { text } = await admin.browser.get('/admin/search?q=grace');
  const of = (prefix: string) => linksIn(text).filter((path) => path.startsWith(prefix)).length;
  assert.deepEqual([of('/admin/users/usr_'), of('/admin/clients/cl_')], [5, 5]);
  assert.match(text, /id="search-users" href="\/admin\/users\?q=grace"/);
  assert.match(text, /id="search-clients" href="\/admin\/clients\?q=grace"/);
});

testSignet(
  'pages are found by their titles in the language of the reader, and each of them is there',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    for (const locale of locales) {
      const words = message('admin.unauthenticated.title', {}, locale).split(' ').slice(0, 2).join(' ');
      const query = new URLSearchParams({ q: words, ui_locales: locale });
      assert.ok(
        linksIn((await admin.browser.get(`/admin/search?${query}`)).text).includes('/admin/audit/unauthenticated'),
      );
    }
    const { text } = await admin.browser.get('/admin/search');
    for (const link of linksIn(text).filter((path) => path.startsWith('/admin'))) {
      const [path = '', anchor] = link.split('#');
      const page = await admin.browser.get(path);
      assert.equal(page.status, 200, path);
      if (anchor !== undefined) assert.match(page.text, new RegExp(`id="${anchor}"`), link);
    }
  },
);
