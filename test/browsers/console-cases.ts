import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { message, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { scratchFolder } from '../support/scratch.ts';
import { until } from '../support/until.ts';
import { keys, type Tab } from './tab.ts';
import { type Case, signIn } from './visit.ts';

/** What people do with their account, developers with their clients, and administrators with both. */

const openDetails = (tab: Tab, containing: string) => tab.click(`details:has(${containing}) > summary`);

const overflow = (tab: Tab) => tab.evaluate('return document.documentElement.scrollWidth - innerWidth');

export const consoleCases: readonly Case[] = [
  {
    name: 'a large picture is made small before it is sent, shown, and removed',
    async run(begin) {
      const { signet, tab } = await begin();
      await signIn(tab, signet, await signet.newUser());
      const picture = pngOf({ width: 1600, height: 1200, level: 0 });
      const file = join(await scratchFolder('picture'), 'large.png');
      await writeFile(file, picture);
      await tab.attach('#content', file);
      const size = () => tab.evaluate('return document.querySelector("#content").files[0]?.size ?? 0');
      await until(
        'it is made small',
        async () => Number(await size()) > 0 && Number(await size()) < picture.length / 2,
      );
      await tab.follow('#picture-submit');
      await tab.see('#picture-remove');
      const isDrawn = () => tab.evaluate('return document.querySelector(".person img")?.naturalWidth > 0');
      await until('it is drawn', async () => (await isDrawn()) === true);
      await tab.follow('#picture-remove');
      await tab.see('#content');
      await tab.seeNone('#picture-remove');
    },
  },
  {
    name: 'the profile is saved, with the date of birth, and wrong ones are said',
    async run(begin) {
      const { signet, tab } = await begin();
      await signIn(tab, signet, await signet.newUser());
      await tab.fill('#name', 'Augusta Ada King');
      await openDetails(tab, '#birth_day');
      await tab.fill('#birth_day', '31');
      await tab.choose('#birth_month', '11');
      await tab.fill('#birth_year', '1915');
      await tab.follow('#profile-submit');
      await tab.see('[role=alert]', message('account.birthdate.problem'));
      await tab.seeFocus('birth_day');
      await tab.fill('#birth_day', '30');
      await tab.follow('#profile-submit');
      await tab.see('[role=status], .notice', message('account.done.yes'));
      await tab.see('h1', 'Augusta Ada King');
    },
  },
  {
    name: 'the menu of the account closes with Escape and with a click elsewhere',
    async run(begin) {
      const { signet, tab } = await begin();
      await signIn(tab, signet, await signet.newUser(), '/account/sessions');
      await tab.click('#user-menu');
      await tab.see('#signout-submit');
      await tab.press(keys.escape);
      await tab.seeNone('#signout-submit');
      await tab.seeFocus('user-menu');
      await tab.click('#user-menu');
      await tab.see('#signout-submit');
      await tab.click('h1');
      await tab.seeNone('#signout-submit');
    },
  },
  {
    name: 'a developer registers a client: warned while typing, its secret copied, gone with the next page',
    async run(begin) {
      const { signet, tab } = await begin();
      await signIn(tab, signet, await signet.newUser(), '/developer/register?kind=web&library=authjs');
      await tab.fill('#name', 'Example shop');
      await tab.fill('#redirect_uris', 'com.example.app:/callback');
      await tab.see('#redirect_uris-problem', message('problem.redirect_uri.scheme'));
      await tab.fill('#redirect_uris', 'https://shop.test/callback');
      await tab.seeNone('#redirect_uris-problem');
      await tab.follow('#register-submit');
      const secret = await tab.text('#client-secret');
      assert.match(secret, /^cs_[\w-]{43}$/);
      await tab.click('[data-copy=client-secret]');
      await tab.see('[role=status]', message('developer.copied'));
      assert.equal(await tab.pasted(), secret);
      // Loading the page again shows the client, and neither registers another one nor shows the secret.
      await tab.reload();
      await tab.see('h1', 'Example shop');
      assert.ok(!(await tab.text('body')).includes('cs_'));
      await tab.goto(`${signet.url}/developer`);
      assert.equal((await tab.text('main')).split('Example shop').length, 2);
    },
  },
  {
    name: 'an administrator reviews: approves, suspends, reinstates, rejects',
    async run(begin) {
      const { signet, tab } = await begin();
      const owner = await signet.signedInUser();
      const { client_id } = await signet.registerClient({ owner, name: 'Field Notes', approved: false });
      const other = await signet.registerClient({ owner, name: 'Quarry', approved: false });
      await signIn(tab, signet, await signet.newUser({ role: 'admin' }), '/admin/clients');
      await tab.follow(`main a[href*="${client_id}"]`);
      await tab.click('form[action$="/approve"] [name=consent][value=required]');
      await tab.follow('#client-approve');
      await tab.see('[role=status]', message('admin.clients.done.approved'));
      assert.equal((await signet.deps.clients.find(client_id))?.consent, 'required');
      await openDetails(tab, '#client-suspend');
      await tab.fill('#suspend-reason', 'Phishing');
      await tab.follow('#client-suspend');
      await tab.see('[role=status]', message('admin.clients.done.suspended'));
      await tab.follow('#client-reinstate');
      await tab.see('[role=status]', message('admin.clients.done.reinstated'));

      await tab.goto(`${signet.url}/admin/clients/${other.client_id}`);
      await tab.follow('#client-reject');
      await tab.see('[role=alert]'); // a reason is needed
      await tab.click('#reject-ready option:nth-child(2)');
      await tab.follow('#client-reject');
      await tab.see('[role=status]', message('admin.clients.done.rejected'));
      assert.equal((await signet.deps.clients.find(other.client_id))?.status, 'rejected');
    },
  },
  {
    name: 'an administrator finds people by the search of the console and of the list, and disables several',
    async run(begin) {
      const { signet, tab } = await begin();
      const users = [
        await signet.signedInUser({ name: 'Mia Rossi' }),
        await signet.signedInUser({ name: 'Mia Bianchi' }),
      ];
      await signIn(tab, signet, await signet.newUser({ role: 'admin' }), '/admin/users');
      await tab.press(keys.control, 'k');
      await tab.seeFocus('jump');
      await tab.typeWhereverItIs('rossi');
      await tab.press(keys.enter);
      await tab.arriveAt(`${signet.url}/admin/search?q=rossi`);
      await tab.see('main', 'Mia Rossi');

      await tab.goto(`${signet.url}/admin/users`);
      await tab.fill('#q', 'Mia');
      await tab.follow('#users-find');
      await tab.see('.people', 'Mia Bianchi');
      for (const { user_id } of users) await tab.click(`[name$="${user_id}"]`);
      await tab.choose('#bulk-action', 'disable');
      await tab.follow('#users-bulk-preview');
      await tab.see('main', message('admin.users.bulk.affected', { count: 2 }));
      await tab.fill('#bulk-reason', 'They have left.');
      await tab.follow('#users-bulk-confirm');
      for (const { browser } of users) assert.equal((await browser.get('/v1/me')).status, 401);
      await tab.goto(`${signet.url}/admin/users?filter=disabled`);
      await tab.see('.people', 'Mia Rossi');
      assert.equal(await tab.count('.people tbody tr'), 2);
    },
  },
  {
    name: 'an administrator deletes an account in the danger zone; after 15 minutes the password comes first, and what was typed stays',
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.signedInUser({ name: 'Mia Rossi' });
      const admin = await signet.newUser({ role: 'admin' });
      await signIn(tab, signet, admin, `/admin/users/${user.user_id}`);
      signet.clock.advance(901);
      await openDetails(tab, '#user-delete');
      await tab.fill('#delete-email', user.email);
      await tab.fill('#delete-reason', 'Asked for it');
      await tab.follow('#user-delete');
      await tab.fill('#password', admin.password);
      await tab.follow('#signin-submit');
      await tab.see('[role=status]', sentence('layout.kept'));
      assert.equal(await tab.value('#delete-reason'), 'Asked for it');
      await tab.follow('#user-delete');
      await tab.see('[role=status]', message('admin.users.done.deleted'));
      assert.equal((await user.browser.get('/v1/me')).status, 401);
    },
  },
  {
    name: 'an administrator changes a setting, and takes it back; creates a credential and copies its secret',
    async run(begin) {
      const { signet, tab } = await begin();
      const page = `${signet.url}/admin/settings/SIGNET_SIGN_UP`;
      await signIn(tab, signet, await signet.newUser({ role: 'admin' }), '/admin/settings');
      await tab.goto(page);
      await tab.click('[name=value][value=off]');
      await tab.fill('#setting-reason', 'Only who is invited');
      await tab.follow('#setting-save');
      await tab.see('[role=status]', message('admin.settings.done.saved'));
      assert.match((await signet.newBrowser().get('/signup')).text, new RegExp(message('signup.off_title')));
      await tab.follow('#setting-reset');
      await tab.see('main', message('admin.settings.source.default'));
      assert.equal((await signet.newBrowser().get('/signup')).text.includes(message('signup.off_title')), false);

      await tab.goto(`${signet.url}/admin/service-credentials`);
      await tab.fill('#name', 'Billing');
      await tab.click('[name="permission:entitlements:write"]');
      await tab.follow('#service-create');
      await tab.see('[role=alert]', message('problem.service.no_product'));
      assert.equal(await tab.value('#name'), 'Billing');
      await tab.fill('#products', 'editor');
      await tab.follow('#service-create');
      await tab.see('[data-copy^=once]');
      const secretAt = (await tab.evaluate(
        'return [...document.querySelectorAll("[id^=once-]")].find((one) => one.textContent.startsWith("ss_")).id',
      )) as string;
      const secret = await tab.text(`#${secretAt}`);
      await tab.click(`[data-copy=${secretAt}]`);
      await tab.see('[role=status]', message('developer.copied'));
      assert.equal(await tab.pasted(), secret);
    },
  },
  {
    name: 'the queue of clients fits into the windows of desks, in either language of the console',
    async run(begin) {
      const { signet, tab } = await begin();
      await signet.registerClient({ name: 'Field Notes' });
      const other = { owner: await signet.signedInUser(), redirect_uris: ['https://other.example/cb'] };
      await signet.registerClient({ ...other, approved: false, name: 'Field N0tes' });
      await signIn(tab, signet, await signet.newUser({ role: 'admin' }), '/admin');
      for (const width of [1280, 1366, 1440]) {
        await tab.resizeTo(width);
        for (const language of ['en', 'de']) {
          await tab.goto(`${signet.url}/admin/clients?state=all&ui_locales=${language}`);
          await tab.see('main', message('admin.risk.warning', {}, language));
          assert.ok(Number(await overflow(tab)) <= 0, `${language}, ${width} px: ${await overflow(tab)} px too wide`);
          const outside = await tab.evaluate(`
            const [card, table] = ['main', 'main table'].map((one) => document.querySelector(one).getBoundingClientRect());
            return table.right - card.right`);
          assert.ok(Number(outside) <= 0, `${language}, ${width} px: the table leaves its card by ${outside} px`);
        }
      }
    },
  },
  {
    name: 'every page of an account and the consoles has its heading and fits, on a desk and in the narrowest window',
    async run(begin) {
      const { signet, tab } = await begin();
      const admin = await signet.signedInUser({ role: 'admin' });
      const client = await signet.registerClient({ owner: admin, name: 'Field Notes' });
      await admin.obtainTokens(client);
      await signIn(tab, signet, admin, '/account');
      const paths = [
        ...['', '/email', '/security', '/security/password', '/security/passkeys', '/security/totp', '/sessions'].map(
          (path) => `/account${path}`,
        ),
        ...['/apps', '/entitlements', '/delete'].map((path) => `/account${path}`),
        ...['', '/register', '/register?kind=web&library=authjs&settings=all'].map((path) => `/developer${path}`),
        ...['', '/edit', '/secrets', '/activity', '/test', '/delete'].map(
          (path) => `/developer/clients/${client.client_id}${path}`,
        ),
        ...['', '/clients', `/clients/${client.client_id}`, '/users', '/users/invite', `/users/${admin.user_id}`].map(
          (path) => `/admin${path}`,
        ),
        ...['/groups', '/attributes', '/entitlements', '/apis', '/service-credentials', '/providers', '/webhooks'].map(
          (path) => `/admin${path}`,
        ),
        ...['/keys', '/audit', '/audit/unauthenticated', '/settings', '/settings/mails', '/search?q=e'].map(
          (path) => `/admin${path}`,
        ),
        '/reference',
        '/docs',
      ];
      const wrong: string[] = [];
      for (const isDesk of [true, false]) {
        if (isDesk) await tab.resizeTo(1280);
        const width = isDesk ? 1280 : await tab.narrow();
        for (const path of paths) {
          await tab.goto(signet.url + path);
          const at = (await tab.url()).replace(signet.url, '');
          if (at !== path) wrong.push(`${path} leads to ${at}`);
          if ((await tab.count('h1')) !== 1) wrong.push(`${path} has no heading`);
          const wide = Number(await overflow(tab));
          if (wide > 0) wrong.push(`${path} is ${wide} px wider than ${width} px`);
        }
      }
      assert.deepEqual(wrong, []);
    },
  },
];
