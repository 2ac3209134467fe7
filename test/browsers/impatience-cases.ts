import assert from 'node:assert/strict';
import type { ProxiedSignet } from '../browser/proxied-signet.ts';
import { linkIn } from '../support/mailbox.ts';
import { message } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { codesOf } from '../support/two-factor.ts';
import { until } from '../support/until.ts';
import type { Tab } from './tab.ts';
import { type Case, clickTwice, fillIn, password, signIn, signOut, startApp } from './visit.ts';

/** The back button, and two clicks where one was meant. */

/** Withheld from the beginning: a browser keeps what it has once. */
const pageScript = /^\/assets\/page-/;

const rows = async ({ deps }: ProxiedSignet, table: string, name: string) =>
  (await plain(deps.db).all(`select 1 from ${table} where name = $1`, [name])).length;

/** Forms of the consoles that create something, of which some show a secret once. */
const creating: readonly {
  path: string;
  fill: (tab: Tab, name: string) => Promise<void>;
  submit: string;
  /** What the page shows that follows. */
  shows: string;
  table?: string;
}[] = [
  {
    path: '/developer/register?kind=web&library=other',
    async fill(tab, name) {
      await tab.fill('#name', name);
      await tab.fill('#redirect_uris', 'https://twice.test/cb');
    },
    submit: '#register-submit',
    shows: '#client-secret',
    table: 'clients',
  },
  {
    path: '/admin/service-credentials',
    async fill(tab, name) {
      await tab.fill('#name', name);
      await tab.click('[name="permission:entitlements:write"]');
      await tab.fill('#products', 'editor');
    },
    submit: '#service-create',
    shows: '#once-0',
    table: 'service_credentials',
  },
  {
    path: '/admin/webhooks',
    async fill(tab, name) {
      await tab.fill('#name', name);
      await tab.fill('#url', 'https://hooks.example.com/signet');
      await tab.click('fieldset.everything input');
    },
    submit: '#webhook-create',
    shows: '#once-0',
    table: 'webhooks',
  },
  {
    path: '/admin/groups',
    fill: (tab, name) => tab.fill('#name', name),
    submit: '#group-create',
    shows: '[role=status]',
    table: 'groups',
  },
  {
    path: '/admin/users/invite',
    async fill(tab, name) {
      await tab.fill('#email', `${name.toLowerCase()}@example.com`);
      await tab.fill('#name', name);
      await tab.fill('textarea[name=reason]', 'Joins on Monday');
    },
    submit: '#user-invite',
    shows: '#once-0',
  },
];

const doubleClicks = (hasScript: boolean): Case => ({
  name: `two clicks where one was meant do it once, ${hasScript ? 'held by the script' : 'by the server alone'}`,
  async run(begin) {
    const { t, signet, tab } = await begin({ env: { SIGNET_MAIL_CODES: 'on' } });
    if (!hasScript) signet.proxy.missing = pageScript;
    const app = await startApp(t);
    const client = await signet.registerClient({ redirect_uris: [`${app.origin}/cb`], consent: 'required' });
    const twice = async (selector: string) => {
      const sent = await clickTwice(tab, signet, selector);
      assert.equal(sent, hasScript ? 1 : 2, selector);
    };

    // Sign-up within the flow of an app, and consent.
    await tab.goto(signet.url + client.authorizePath());
    await tab.goto((await tab.url()).replace('/signin', '/signup'));
    await tab.fill('#email', 'nora@example.com');
    await twice('#signup-submit');
    await tab.see('h1', message('signup.sent_title'));
    const mail = await signet.mailbox.next('nora@example.com');
    await tab.goto(signet.url + linkIn(mail, /^\/signup\//));
    await tab.fill('#name', 'Nora');
    await tab.fill('#password', password);
    await twice('#signup-create');
    await tab.see('#consent-allow');
    await twice('#consent-allow');
    await tab.arriveAt(`${app.origin}/cb*`);
    assert.equal((await client.redeem(app.received.at(-1)!.parameters.get('code') ?? '')).status, 200);
    assert.equal(signet.mailbox.mails.filter(({ to }) => to.includes('nora@')).length, 1);

    // The backup codes, which are shown once.
    await tab.goto(`${signet.url}/account/security/totp`);
    await tab.follow('#totp-enroll');
    await tab.click('main summary');
    const code = codesOf(signet, (await tab.text('#totp-secret')).replaceAll(' ', ''));
    await tab.fill('#code', code());
    await twice('#totp-confirm');
    await tab.see('#backup-codes code');
    const [backupCode = ''] = (await tab.text('#backup-codes')).split(/\s+/);

    // Each way of the second step, within the flow of an app.
    for (const [name, spend] of [
      ['the app', async () => tab.fill('#code', code())],
      [
        'a backup code',
        async () => {
          await tab.follow('#second-factor-other');
          await tab.fill('#code', backupCode);
        },
      ],
    ] as const) {
      await tab.forgetCookies(`${signet.url}/signed-out`);
      await tab.goto(signet.url + client.authorizePath());
      await fillIn(tab, 'nora@example.com', password);
      await twice('#signin-submit');
      await tab.see('#second-factor-submit');
      await spend();
      const before = app.received.length;
      await twice('#second-factor-submit');
      await tab.arriveAt(`${app.origin}/cb*`);
      assert.ok(app.received.length > before && app.received.at(-1)!.parameters.has('code'), name);
    }

    // A code by mail.
    const user = await signet.newUser();
    await tab.forgetCookies(`${signet.url}/signed-out`);
    await tab.goto(`${signet.url}/signin`);
    await tab.fill('#username', user.email);
    await twice('#signin-mail-code');
    await tab.see('#mail-code-submit');
    const [mailed = ''] = /\b\d{3,4} ?\d{3,4}\b/.exec((await signet.mailbox.next(user.email)).text) ?? [];
    await tab.fill('#code', mailed);
    await twice('#mail-code-submit');
    await tab.arriveAt(`${signet.url}/account`);
    assert.equal(signet.mailbox.mails.filter(({ to }) => to === user.email).length, 1);
  },
});

const doubleCreation = (hasScript: boolean): Case => ({
  name: `two clicks create one and show its secret, ${hasScript ? 'held by the script' : 'by the server alone'}`,
  async run(begin) {
    const { signet, tab } = await begin();
    if (!hasScript) signet.proxy.missing = pageScript;
    await signIn(tab, signet, await signet.newUser({ role: 'admin' }), '/admin');
    for (const [place, { path, fill, submit, shows, table }] of creating.entries()) {
      const name = `Twice${place}`;
      await tab.goto(signet.url + path);
      await fill(tab, name);
      const sent = await clickTwice(tab, signet, submit);
      assert.equal(sent, hasScript ? 1 : 2, path);
      await tab.see(shows);
      if (table !== undefined) assert.equal(await rows(signet, table, name), 1, path);
    }
    const invited = `twice${creating.length - 1}@example.com`;
    await signet.mailbox.next(invited);
    assert.equal(signet.mailbox.mails.filter(({ to }) => to === invited).length, 1);
  },
});

export const impatienceCases: readonly Case[] = [
  doubleClicks(true),
  doubleClicks(false),
  doubleCreation(true),
  doubleCreation(false),
  {
    name: 'the back button after sign-out shows nothing of the account',
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await signIn(tab, signet, user, '/account/sessions');
      await tab.see('h1', message('sessions.title'));
      await signOut(tab);
      await tab.back();
      await tab.see('#signin-submit');
      assert.ok(!(await tab.text('body')).includes(user.email));
    },
  },
  {
    name: 'the back button after sign-in leads to the account, and between steps to a form that works',
    async run(begin) {
      const { t, signet, tab } = await begin();
      const app = await startApp(t);
      const client = await signet.registerClient({ redirect_uris: [`${app.origin}/cb`], consent: 'required' });
      const user = await signet.signedInUser();
      await signIn(tab, signet, user);
      await tab.arriveAt(`${signet.url}/account`);
      await tab.back();
      await tab.see('#user-menu');
      await signOut(tab);

      const { code } = await user.enableTotp();
      await tab.goto(signet.url + client.authorizePath());
      await fillIn(tab, user.email, user.password);
      await tab.follow('#signin-submit');
      await tab.see('#second-factor-submit');
      await tab.back();
      await tab.see('#signin-submit');
      await fillIn(tab, user.email, user.password);
      await tab.follow('#signin-submit');
      await tab.fill('#code', code());
      await tab.follow('#second-factor-submit');
      await tab.see('#consent-allow');
      await tab.back();
      await tab.see('main');
      await tab.goto(signet.url + client.authorizePath());
      await tab.follow('#consent-allow');
      await tab.arriveAt(`${app.origin}/cb*`);
      // The consent is given: its page is over, and says where to go on.
      await tab.back();
      // WebKit shows the page as it was left for a moment, and then asks the server.
      await until('the question is gone', async () => (await tab.count('#consent-allow')) === 0);
      await tab.see('main');
    },
  },
];
