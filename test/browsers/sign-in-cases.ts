import assert from 'node:assert/strict';
import { linkIn } from '../support/mailbox.ts';
import { message, sentence } from '../support/messages.ts';
import { codesOf } from '../support/two-factor.ts';
import { until } from '../support/until.ts';
import { keys, type Tab } from './tab.ts';
import { type Case, fillIn, password, signIn, signOut } from './visit.ts';

/** Each way in. */

/** It fills in nothing there. */
const unknownToFirefox = /^(?:one-time-code|bday-)/;

const amrOf = async (tab: Tab) =>
  (await tab.evaluate(
    'const asked = new XMLHttpRequest(); asked.open("GET", "/v1/me", false); asked.send(); return JSON.parse(asked.response).session.amr',
  )) as string[];

export const signInCases: readonly Case[] = [
  {
    name: 'sign-up by the link of a mail',
    async run(begin) {
      const { signet, tab } = await begin();
      await tab.goto(`${signet.url}/signup`);
      await tab.seeFocus('email');
      await tab.fill('#email', 'nora@example.com');
      await tab.follow('#signup-submit');
      await tab.see('h1', message('signup.sent_title'));
      const mail = await signet.mailbox.next('nora@example.com');
      await tab.goto(signet.url + linkIn(mail, /^\/signup\//));
      await tab.fill('#name', 'Nora');
      await tab.fill('#password', 'password1234567');
      await tab.follow('#signup-create');
      await tab.see('[role=alert]');
      assert.equal(await tab.value('#name'), 'Nora');
      await tab.seeFocus('password');
      await tab.fill('#password', password);
      await tab.see('[data-count]', message('field.new_password.enough'));
      await tab.follow('#signup-create');
      await tab.arriveAt(`${signet.url}/account*`);
      await tab.see('h1', 'Nora');
    },
  },
  {
    name: 'sign-in with a password',
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await tab.goto(`${signet.url}/signin`);
      await tab.seeFocus('username');
      await fillIn(tab, user.email, 'not the password at all');
      const type = () => tab.evaluate('return document.querySelector("#password").type');
      await tab.click('[data-reveal=password]');
      assert.deepEqual([await type(), await tab.focused()], ['text', 'password']);
      await tab.follow('#signin-submit');
      await tab.see('[role=alert]', message('signin.wrong'));
      assert.deepEqual([await tab.value('#username'), await tab.value('#password')], [user.email, '']);
      assert.deepEqual([await type(), await tab.focused()], ['password', 'password']);
      await tab.fill('#password', user.password);
      await tab.press(keys.enter);
      await tab.arriveAt(`${signet.url}/account`);
      assert.deepEqual(await amrOf(tab), ['pwd']);
    },
  },
  {
    name: 'authenticator app and backup codes: set up, copied, used',
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await signIn(tab, signet, user, '/account/security/totp');
      await tab.follow('#totp-enroll');
      await tab.click('main summary');
      const code = codesOf(signet, (await tab.text('#totp-secret')).replaceAll(' ', ''));
      await tab.fill('#code', code());
      await tab.follow('#totp-confirm');
      const list = (await tab.text('#backup-codes')).split(/\s+/);
      assert.equal(list.length, 10);
      await tab.click('[data-action=copy]');
      await tab.see('#backup-codes-actions', message('backup_codes.copied'));
      assert.deepEqual((await tab.pasted()).trim().split(/\s+/), list);
      await signOut(tab);

      await signIn(tab, signet, user);
      await tab.arriveAt(`${signet.url}/signin/second-factor`);
      await tab.seeFocus('code');
      await tab.fill('#code', '000 000');
      await tab.follow('#second-factor-submit');
      assert.match(await tab.text('[role=alert]'), sentence('second_factor.wrong', { triesLeft: 4 }));
      await tab.fill('#code', code().replace(/^.../, '$& '));
      await tab.follow('#second-factor-submit');
      await tab.arriveAt(`${signet.url}/account`);
      assert.deepEqual(await amrOf(tab), ['pwd', 'otp', 'mfa']);
      await signOut(tab);

      await signIn(tab, signet, user);
      await tab.follow('#second-factor-other');
      await tab.fill('#code', list[0]!);
      await tab.follow('#second-factor-submit');
      await tab.arriveAt(`${signet.url}/account`);
      assert.ok((await amrOf(tab)).includes('mfa'));
    },
  },
  {
    name: 'sign-in with a code by mail',
    async run(begin) {
      const { signet, tab } = await begin({ env: { SIGNET_MAIL_CODES: 'on' } });
      const user = await signet.newUser();
      await tab.goto(`${signet.url}/signin`);
      await tab.fill('#username', user.email);
      await tab.follow('#signin-mail-code'); // the password stays empty
      await tab.seeFocus('code');
      const [code] = /\b\d{6,8}\b|\b\d{3,4} \d{3,4}\b/.exec((await signet.mailbox.next(user.email)).text) ?? [];
      await tab.fill('#code', code ?? '');
      await tab.follow('#mail-code-submit');
      await tab.arriveAt(`${signet.url}/account`);
      assert.ok(!(await amrOf(tab)).includes('pwd'));
    },
  },
  {
    name: 'sign-in with a passkey that was added on its page',
    notIn: { webkit: 'WebKitGTK has no WebAuthn.' },
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await user.browser.post('/signin', { username: user.email, password: user.password });
      await signIn(tab, signet, user, '/account/security/passkeys');
      await tab.plugInAuthenticator();
      await tab.follow('form[data-passkey] button');
      await tab.see('[role=status]', message('passkey.done.added'));
      await signOut(tab);
      // Its autofill may have been faster than a click.
      await tab.goto(`${signet.url}/signin`).catch(() => undefined);
      if (!(await tab.url()).endsWith('/account')) await tab.click('form[data-passkey] button').catch(() => undefined);
      await tab.arriveAt(`${signet.url}/account`);
      assert.deepEqual(await amrOf(tab), ['hwk', 'mfa']);
    },
  },
  {
    name: 'without WebAuthn the forms for passkeys stay hidden',
    notIn: { firefox: 'Firefox has WebAuthn.', chromium: 'Chromium has WebAuthn.' },
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await tab.goto(`${signet.url}/signin`);
      assert.equal(await tab.evaluate('return typeof PublicKeyCredential'), 'undefined');
      await tab.seeNone('form[data-passkey]');
      await signIn(tab, signet, user, '/account/security/passkeys');
      await tab.see('main', message('passkey.none'));
      await tab.seeNone('form[data-passkey]');
    },
  },
  {
    name: 'the password is reset by the link of a mail',
    async run(begin) {
      const { signet, tab } = await begin();
      const user = await signet.newUser();
      await tab.goto(`${signet.url}/reset`);
      await tab.fill('#email', user.email);
      await tab.follow('#reset-submit');
      const mail = await signet.mailbox.next(user.email, sentence('mail.reset.subject'));
      await tab.goto(signet.url + linkIn(mail, /^\/reset\//));
      await tab.fill('#password', 'other words in a long row');
      await tab.follow('#reset-save');
      await tab.arriveAt(`${signet.url}/account*`);
      await signOut(tab);
      await signIn(tab, signet, user.with({ password: 'other words in a long row' }));
      await tab.arriveAt(`${signet.url}/account`);
    },
  },
  {
    name: 'fields tell password managers what they are for',
    async run(begin) {
      const { signet, tab } = await begin({ env: { SIGNET_MAIL_CODES: 'on' } });
      const expect = async (fields: Readonly<Record<string, string>>) => {
        for (const [selector, wanted] of Object.entries(fields)) {
          const script =
            'const field = document.querySelector(arguments[0]); return [field.getAttribute("autocomplete"), field.autocomplete]';
          const [written, understood] = (await tab.evaluate(script, selector)) as [string, string];
          assert.equal(written, wanted, `${await tab.url()} ${selector}`);
          if (!unknownToFirefox.test(wanted)) assert.equal(understood, wanted, `${await tab.url()} ${selector}`);
        }
      };
      /** Beside a new or a known password they look for its account in a text field, shown or not. */
      const named = async (email: string) =>
        assert.equal(
          await tab.evaluate(
            'return document.querySelector("form:has([type=password]) [type=text][autocomplete=username]")?.value',
          ),
          email,
          await tab.url(),
        );
      const user = await signet.signedInUser();
      const { code } = await user.enableTotp();
      await tab.goto(`${signet.url}/signin`);
      await expect({ '#username': 'username webauthn', '#password': 'current-password' });
      await tab.goto(`${signet.url}/signup`);
      await expect({ '#email': 'email' });
      await tab.fill('#email', 'nora@example.com');
      await tab.follow('#signup-submit');
      await tab.goto(signet.url + linkIn(await signet.mailbox.next('nora@example.com'), /^\/signup\//));
      await expect({ '#name': 'name', '#password': 'new-password' });
      await named('nora@example.com');
      await tab.goto(`${signet.url}/reset`);
      await expect({ '#email': 'username' });
      await tab.fill('#email', user.email);
      await tab.follow('#reset-submit');
      const reset = await signet.mailbox.next(user.email, sentence('mail.reset.subject'));
      await tab.goto(signet.url + linkIn(reset, /^\/reset\//));
      await expect({ '#password': 'new-password' });
      await named(user.email);
      await tab.goto(`${signet.url}/signin`);
      await tab.fill('#username', user.email);
      await tab.follow('#signin-mail-code');
      await expect({ '#code': 'one-time-code' });
      await signIn(tab, signet, user);
      await expect({ '#code': 'one-time-code' });
      await tab.follow('#second-factor-other');
      await expect({ '#code': 'off' });
      await tab.goto(`${signet.url}/signin/second-factor`);
      await tab.fill('#code', code());
      await tab.follow('#second-factor-submit');
      await tab.goto(`${signet.url}/account/security/password`);
      await expect({ '#password': 'new-password' });
      await named(user.email);
      await tab.goto(`${signet.url}/signin/confirm?next=/account/security`);
      await until('the page is there', async () => (await tab.count('main')) === 1);
      await tab.goto(`${signet.url}/account`);
      await expect({
        '#name': 'name',
        '#birth_day': 'bday-day',
        '#birth_month': 'bday-month',
        '#birth_year': 'bday-year',
      });
    },
  },
];
