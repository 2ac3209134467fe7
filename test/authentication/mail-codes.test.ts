import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { oneFactor, twoFactors } from '../../src/authentication/sessions/authentication.ts';
import type { Browser } from '../support/browser.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { sessionOf } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';

const path = '/signin/code';
const on = { SIGNET_MAIL_CODES: 'on' };

const start = (t: TestContext, engine: Engine, env: Record<string, string> = {}) =>
  startSignet(t, { engine, mail: true, env: { ...on, ...env } });

async function ask(browser: Browser, email: string, fields: Record<string, string> = {}) {
  const answer = await browser.post('/signin/mail-code', { username: email, password: '', ...fields });
  assert.deepEqual([answer.status, answer.location], [303, path], answer.text);
  return answer;
}

async function codeFor({ mailbox }: Signet, email: string): Promise<string> {
  const mail = await mailbox.next(email, sentence('mail.sign_in_code.subject'));
  const code = /^\d{4} \d{4}$/m.exec(mail.text)?.[0];
  assert.ok(code, mail.text);
  return code;
}

const give = (browser: Browser, code: string) => browser.post(path, { code });
const isIn = async (browser: Browser) => (await browser.get('/v1/me')).status === 200;
const other = (code: string) => code.replace(/\d/g, (digit) => String((Number(digit) + 1) % 10));

onBothEngines('a code in a mail signs in, once, as one factor, and on to the app', async (t, engine) => {
  const signet = await start(t, engine);
  const user = await signet.newUser();
  const client = await signet.registerClient();
  const { browser } = user;
  const asked = await browser.get(client.authorizePath());
  const request = new URL(asked.location, signet.url).searchParams.get('request')!;
  assert.match((await browser.get(asked.location)).text, /formaction="\/signin\/mail-code" formnovalidate/);
  await ask(browser, user.email.toUpperCase(), { request });
  const page = (await browser.get(path)).text;
  assert.match(page, /autocomplete="one-time-code" inputmode="numeric"/);
  const code = await codeFor(signet, user.email);
  const kept = new Map(browser.cookies);
  const answer = await give(browser, ` ${code.replace(' ', '-')} `);
  const back = redirectedTo(await browser.get(answer.location)).get('code')!;
  const { id_token } = (await client.redeem(back)).json as { id_token: string };
  assert.deepEqual([claimsOf(id_token).amr, claimsOf(id_token).acr], [['otp'], oneFactor]);
  const again = signet.newBrowser();
  for (const [name, value] of kept) if (!name.includes('identity')) again.cookies.set(name, value);
  assert.match((await give(again, code)).location, /^\/signin\?/, 'it is used up');
  assert.equal(await isIn(again), false);
});

onBothEngines(
  'the mail says which browser has asked, so that its reader types no code of another',
  async (t, engine) => {
    const signet = await startSignet(t, { engine, mail: true, env: { ...on, SIGNET_TRUST_PROXY: '1' } });
    const user = await signet.newUser();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      'x-forwarded-for': '198.51.100.24',
    };
    const body = String(new URLSearchParams({ username: user.email, password: '' }));
    const answer = await signet.newBrowser().send('/signin/mail-code', { method: 'POST', headers, body });
    assert.equal(answer.status, 303, answer.text);
    const { text, html } = await signet.mailbox.next(user.email, sentence('mail.sign_in_code.subject'));
    for (const shown of [text, html]) assert.match(String(shown), /Firefox, Linux[\s\S]*198\.51\.100\.24/);
  },
);

onBothEngines('the second factor follows where there is one', async (t, engine) => {
  const signet = await start(t, engine);
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  const { browser } = user.elsewhere();
  await ask(browser, user.email);
  assert.equal((await give(browser, await codeFor(signet, user.email))).location, '/signin/second-factor');
  assert.equal(await isIn(browser), false);
  await browser.post('/signin/second-factor', { code: app.code() });
  const session = await sessionOf(browser);
  assert.deepEqual([session.amr, session.acr], [['otp', 'mfa'], twoFactors]);
});

onBothEngines(
  'a code is good in the browser that asked, for ten minutes, for five tries, and the newest one',
  async (t, engine) => {
    const signet = await start(t, engine);
    const user = await signet.newUser();
    const { browser } = user;
    await ask(browser, user.email);
    const code = await codeFor(signet, user.email);
    const stranger = signet.newBrowser();
    assert.match((await give(stranger, code)).location, /^\/signin\?/, 'a code alone opens nothing');
    await ask(stranger, user.email);
    const theirs = await codeFor(signet, user.email);
    assert.equal((await give(stranger, code)).status, 401, 'nor in another browser that has asked');
    assert.notEqual(code, theirs);

    signet.clock.advance(600);
    assert.match((await give(browser, code)).location, /^\/signin\?/, 'after ten minutes');
    await ask(browser, user.email);
    const second = await codeFor(signet, user.email);
    await ask(browser, user.email);
    const third = await codeFor(signet, user.email);
    assert.equal((await give(browser, second)).status, 401);
    signet.clock.advance(590);
    assert.equal((await give(browser, third)).location, '/account');

    const guesser = signet.newBrowser();
    await ask(guesser, user.email);
    const right = await codeFor(signet, user.email);
    for (const triesLeft of [4, 3, 2, 1]) {
      assert.match((await give(guesser, other(right))).text, sentence('mail_code.wrong', { triesLeft }));
      signet.clock.advance(1);
    }
    assert.match((await give(guesser, other(right))).text, sentence('mail_code.over.title'));
    assert.match((await give(guesser, right)).location, /^\/signin\?/);
  },
);

onBothEngines('of twenty at once five are looked at, and one right one signs in', async (t, engine) => {
  const signet = await start(t, engine, { SIGNET_LIMIT_PASSWORD_FAILURES: '20' });
  const user = await signet.newUser();
  const copies = () =>
    Array.from({ length: 20 }, () => {
      const one = signet.newBrowser();
      for (const [name, value] of user.browser.cookies) one.cookies.set(name, value);
      return one;
    });
  await ask(user.browser, user.email);
  const code = await codeFor(signet, user.email);
  const wrong = await Promise.all(copies().map((one) => give(one, other(code))));
  assert.equal(wrong.filter(({ status }) => status === 401).length, 5);
  await ask(user.browser, user.email);
  const next = await codeFor(signet, user.email);
  const right = copies();
  await Promise.all(right.map((one) => give(one, next)));
  assert.equal((await Promise.all(right.map(isIn))).filter(Boolean).length, 1);
});

onBothEngines(
  'no answer says whether there is an account, nor is a mail sent where there is none',
  async (t, engine) => {
    const signet = await start(t, engine);
    const user = await signet.newUser();
    const unverified = await signet.newUser({ emailVerified: false });
    const disabled = await signet.newUser();
    await plain(signet.deps.db).run('update users set disabled_at = 1 where user_id = $1', [disabled.user_id]);
    const seen = async (email: string) => {
      const browser = signet.newBrowser();
      await browser.get('/signin');
      const answer = await ask(browser, email);
      const names = answer.headers.getSetCookie().map((one) => one.replace(/=[^;]*/, ''));
      const tidy = (text: string) => text.replaceAll(email, 'X').replace(/fm_[\w-]{43}/g, 'fm');
      const page = tidy((await browser.get(path)).text);
      const wrong = await give(browser, '0000 0000');
      return { names, page, status: wrong.status, text: tidy(wrong.text) };
    };
    const known = await seen(user.email);
    await codeFor(signet, user.email);
    for (const email of ['nobody@example.com', unverified.email, disabled.email])
      assert.deepEqual(await seen(email), known);
    assert.deepEqual(
      signet.mailbox.mails.filter(({ to }) => to !== user.email),
      [],
    );
    const browser = signet.newBrowser();
    assert.match((await browser.post('/signin/mail-code', { username: 'no address' })).text, /role="alert"/);
  },
);

onBothEngines('it is bounded as passwords and resets are', async (t, engine) => {
  const signet = await start(t, engine);
  const user = await signet.newUser();
  // Wrong codes block as wrong passwords do, and both together.
  await ask(user.browser, user.email);
  const code = await codeFor(signet, user.email);
  for (let guess = 0; guess < 3; guess += 1) await give(user.browser, other(code));
  for (let guess = 0; guess < 2; guess += 1) await user.with({ password: 'a wrong pass phrase' }).signIn();
  assert.equal((await give(user.browser, code)).status, 429);
  signet.clock.advance(31);
  assert.equal((await give(user.browser, code)).location, '/account');

  // Five mails to a mailbox an hour, for those who are unknown there; the owner's browser has five of its own.
  for (let mail = 0; mail < 6; mail += 1) await ask(signet.newBrowser(), user.email);
  await ask(user.browser, user.email);
  await codeFor(signet, user.email);
  await signet.runJobs();
  const sent = signet.mailbox.mails.filter(({ to }) => to === user.email).length;
  assert.equal(sent, 1 + 4 + 1, 'the first of all, four more of strangers, and that of the owner');
});

onBothEngines('a code ends with a new password, and the store keeps none', async (t, engine) => {
  const signet = await start(t, engine);
  const user = await signet.signedInUser();
  const { browser } = user.elsewhere();
  await ask(browser, user.email);
  const code = await codeFor(signet, user.email);
  const rows = JSON.stringify(await plain(signet.deps.db).all('select * from mail_codes'));
  for (const secret of [code, code.replace(' ', ''), browser.cookies.get('signet_mail_code')!])
    assert.ok(!rows.includes(secret) && !signet.logLines.join('').includes(secret));
  const changed = await user.browser.postJson('/v1/me/password', { password: 'a quite different pass phrase' });
  assert.equal(changed.status, 204);
  assert.match((await give(browser, code)).location, /^\/signin\?/);
});

onBothEngines('where it is off there is neither button nor page', async (t, engine) => {
  const signet = await startSignet(t, { engine, mail: true });
  const browser = signet.newBrowser();
  assert.doesNotMatch((await browser.get('/signin')).text, /mail-code/);
  assert.equal((await browser.post('/signin/mail-code', { username: 'a@example.com' })).status, 404);
  assert.equal((await browser.get(path)).status, 404);
});
