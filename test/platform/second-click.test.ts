import assert from 'node:assert/strict';
import type { Answer, Browser } from '../support/browser.ts';
import { clickTwice, formAt, submit } from '../support/forms.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { codesOf } from '../support/two-factor.ts';

/** The user of a slow line clicks once more: the browser shows the second answer, and throws the first away. */

const password = 'some more words in a row';

/** What the browser shows is what it would have shown after one click. */
function assertSame([first, second]: [Answer, Answer], status: number): Answer {
  assert.deepEqual([first.status, second.status], [status, status], second.text.slice(0, 2000));
  assert.deepEqual([second.location, second.text], [first.location, first.text]);
  assert.deepEqual(second.headers.getSetCookie(), first.headers.getSetCookie());
  assert.equal(second.headers.get('content-security-policy'), first.headers.get('content-security-policy'));
  return second;
}

const linkIn = (text: string) => new URL(/https?:\S+\/(?:signup|reset|join|verify-email)\/\S+/.exec(text)![0]).pathname;

/** A flow of an app that has come to the sign-in page. */
async function arrive(signet: Signet, browser: Browser) {
  const client = await signet.registerClient();
  const { location } = await browser.get(client.authorizePath());
  return { client, location, query: new URL(location, signet.url).search };
}

/** The browser goes on to the app. */
async function assertReaches(browser: Browser, { location }: Answer) {
  const answer = await browser.get(location);
  assert.match(answer.location, /^https:\/\/rp\.test\/cb\?code=/, answer.text);
}

testSignet(
  'a second click on sign-up and reset leads to the app, with one mail',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    for (const flow of ['signup', 'reset'] as const) {
      await t.test(flow, async () => {
        const browser = signet.newBrowser();
        const { query } = await arrive(signet, browser);
        const { email } = flow === 'reset' ? await signet.newUser() : { email: 'new@example.com' };
        const asked = await formAt(browser, `/${flow}${query}`, `/${flow}`, { email });
        const before = mailbox.mails.length;
        assertSame(await clickTwice(browser, asked), 303);
        const mail = await mailbox.next(email);
        assert.equal(mailbox.mails.length, before + 1);
        const link = linkIn(mail.text);
        const name: Record<string, string> = flow === 'signup' ? { name: 'New Nora' } : {};
        const answer = assertSame(
          await clickTwice(browser, await formAt(browser, link, link, { ...name, password })),
          303,
        );
        await assertReaches(browser, answer);
      });
    }
  },
);

testSignet('a second click on the password and on the second factor leads to the app', async ({ signet }) => {
  const user = await signet.signedInUser();
  const authenticator = await user.enableTotp();
  const browser = signet.newBrowser();
  const { location } = await arrive(signet, browser);
  const signIn = await formAt(browser, location, '/signin', { username: user.email, password: user.password });
  const { location: second } = assertSame(await clickTwice(browser, signIn), 303);
  const form = await formAt(browser, second, second, { code: authenticator.code() });
  await assertReaches(browser, assertSame(await clickTwice(browser, form), 303));
  assert.equal((await signet.auditLog({ action: 'session.second_factor_asked' })).length, 1);
});

const register = {
  name: 'Twice',
  client_type: 'confidential',
  redirect_uris: 'https://twice.test/cb',
  'scope openid': 'on',
  id_token_signed_response_alg: 'EdDSA',
};
const service = { name: 'Billing', 'permission:entitlements:write': 'on', products: 'photos' };

/** Each form whose answer is the only one: as it is filled in, and the secret in its answer. */
async function onlyAnswers(signet: Signet, { browser }: TestUser) {
  const other = await signet.newUser();
  const reason = 'Asked for on the phone.';
  const webhook = { name: 'Bill', url: 'https://hook.test/x', 'event:user.created': 'on' };
  const made = (page: string, fields: Record<string, string>, action = page.split('?')[0]!) =>
    formAt(browser, page, action, fields).then((form) => submit(browser, form));
  const idIn = ({ text }: Answer, id: RegExp) => id.exec(text)?.[0] ?? assert.fail(text);
  const client_id = idIn(await made('/developer/register?kind=web&library=other', register), /cl_[\w-]{22}/);
  const credential = `/admin/service-credentials/${idIn(await made('/admin/service-credentials', service), /svc_[\w-]{22}/)}`;
  const hook = `/admin/webhooks/${idIn(await made('/admin/webhooks', webhook), /wh_[\w-]{22}/)}`;
  await made('/account/security/totp', {}, '/account/security/totp/enroll');
  const totp = await browser.get('/account/security/totp');
  const code = codesOf(signet, /id="totp-secret"[^>]*>([A-Z2-7 ]+)</.exec(totp.text)![1]!.replaceAll(' ', ''));
  const user = `/admin/users/${other.user_id}`;
  const security = '/account/security';
  return [
    ['/developer/register?kind=web&library=other', '/developer/register', register, /cs_[\w-]{43}/],
    ['/admin/clients/register?kind=web&library=other', '/admin/clients/register', register, /cs_[\w-]{43}/],
    [`/developer/clients/${client_id}/secrets`, `/developer/clients/${client_id}/secrets`, {}, /cs_[\w-]{43}/],
    ['/admin/service-credentials', '/admin/service-credentials', service, /ss_[\w-]{43}/],
    [credential, `${credential}/rotate`, {}, /ss_[\w-]{43}/],
    ['/admin/webhooks', '/admin/webhooks', webhook, /whsec_[\w+/=]{44}/],
    [hook, `${hook}/rotate-secret`, {}, /whsec_[\w+/=]{44}/],
    ['/admin/users/invite', '/admin/users/invite', { email: 'guest@example.com', reason }, /\/join\/ln_[\w-]{43}/],
    [user, `${user}/reset-link`, { reason }, /\/reset\/ln_[\w-]{43}/],
    [`${security}/totp`, `${security}/totp/confirm`, { code: code() }, /<code>[a-z\d]{4,}-?[a-z\d-]+<\/code>/],
    [`${security}/backup-codes`, `${security}/backup-codes`, {}, /<code>[a-z\d]{4,}-?[a-z\d-]+<\/code>/],
  ] as const;
}

testSignet(
  'what is shown once is shown again to the same session for a minute, and made once',
  async ({ signet, t }) => {
    const user = await signet.signedInUser({ role: 'admin' });
    const events = async () => (await signet.auditLog()).length;
    for (const [page, action, fields, secret] of await onlyAnswers(signet, user)) {
      await t.test(action.replace(/_[\w-]{22}/g, ''), async () => {
        const form = await formAt(user.browser, page, action, fields);
        const shown = (await submit(user.browser, form)).text;
        assert.match(shown, secret);
        const before = await events();
        const again = await submit(user.browser, form);
        assert.deepEqual([again.status, again.text], [200, shown]);
        assert.equal(await events(), before, 'nothing was done');
      });
    }
  },
);

testSignet('a form acts once also while it is being worked on, and on another node', async ({ signet, t }) => {
  const other = await startSignet(t, { beside: signet });
  const user = await signet.signedInUser();
  const elsewhere = other.newBrowser();
  for (const [name, value] of user.browser.cookies) elsewhere.cookies.set(name, value);
  const page = '/developer/register';
  const form = await formAt(user.browser, `${page}?kind=web&library=other`, page, register);
  const answers = await Promise.all(
    [user.browser, elsewhere, user.browser].map((one) => one.post(form.action, form.fields, { origin: signet.url })),
  );
  assert.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
  assert.match(answers[0]!.text, /cs_[\w-]{43}/);
  assert.equal((await plain(signet.deps.db).all("select * from clients where name = 'Twice'")).length, 1);
});

testSignet('the answer to a form is for that form in that session, and for a minute', async ({ signet, t }) => {
  const user = await signet.signedInUser({ role: 'admin' });
  const path = '/admin/service-credentials';
  const fresh = () => formAt(user.browser, path, path, service);
  const secretIn = ({ text }: Answer) => /ss_[\w-]{43}/.exec(text)?.[0];

  await t.test('another session of the same user does not get it, nor does a browser without one', async () => {
    const form = await fresh();
    const secret = secretIn(await submit(user.browser, form));
    assert.ok(secret);
    const elsewhere = await user.signedInElsewhere();
    assert.notEqual(secretIn(await submit(elsewhere.browser, form)), secret);
    assert.match((await submit(signet.newBrowser(), form)).location, /^\/signin\?/);
    await user.browser.post('/signout');
    assert.match((await submit(user.browser, form)).location, /^\/signin\?/);
    await user.signIn();
  });

  await t.test('a form that is filled in differently, or drawn anew, acts', async () => {
    const form = await fresh();
    const changed = { ...form, fields: { ...form.fields, name: 'Other' } };
    const secrets = [];
    for (const one of [form, changed, await fresh()]) secrets.push(secretIn(await submit(user.browser, one)));
    assert.equal(new Set(secrets).size, 3);
    assert.ok(secrets.every(Boolean));
  });

  await t.test('a refused form may be sent again', async () => {
    const leaver = await signet.signedInUser();
    const invite = { email: leaver.email, reason: 'Comes back.' };
    const form = await formAt(user.browser, '/admin/users/invite', '/admin/users/invite', invite);
    assert.equal((await submit(user.browser, form)).status, 409);
    await leaver.browser.post('/account/delete', { email: leaver.email });
    assert.match((await submit(user.browser, form)).text, /\/join\/ln_/);
  });

  await t.test('what is stored opens with what was sent alone, and goes after a minute', async () => {
    const form = await fresh();
    const secret = secretIn(await submit(user.browser, form));
    const rows = () => plain(signet.deps.db).all<{ sealed: string }>('select * from form_answers');
    const stored = await rows();
    assert.ok(stored.length > 0);
    for (const known of [secret, form.fields.form_id]) assert.ok(!JSON.stringify(stored).includes(known!));
    for (const { sealed } of stored) assert.throws(() => signet.deps.vault.browser.open('form-answer', sealed));
    signet.clock.advance(60);
    assert.notEqual(secretIn(await submit(user.browser, form)), secret);
    signet.clock.advance(361); // longer for a node whose clock is behind
    await signet.runJobs();
    assert.deepEqual(await rows(), []);
  });
});

testSignet('one sender has a limited number of answers kept, and is served beyond it', async ({ signet }) => {
  const browser = signet.newBrowser();
  const user = await signet.newUser();
  const submitOnce = async () => {
    const form = await formAt(browser, '/signin', '/signin', { username: user.email, password: user.password });
    browser.cookies.delete('signet_identity_session');
    assert.equal((await submit(browser, form)).status, 303);
    browser.cookies.delete('signet_identity_session');
  };
  for (let times = 0; times < 52; times += 1) await submitOnce();
  const { db } = signet.deps;
  const kept = async () =>
    (await Promise.all(db.parts.map((part) => plain(part).all('select * from form_answers')))).map((all) => all.length);
  if (db.parts.length === 1) {
    assert.deepEqual(await kept(), [50]);
    return;
  }
  // A form leads to a cell, and each has its own maximum.
  const [{ sender, expires_at } = assert.fail()] = await plain(db).all<{ sender: string; expires_at: number }>(
    'select sender, expires_at from form_answers',
  );
  for (const [place, answers] of (await kept()).entries()) {
    await plain(db.parts[place]!).run(
      `with recursive n(i) as (select $3 + 1 union all select i + 1 from n where i < 50)
       insert into form_answers (form_hash, sender, expires_at) select 'f' || i, $1, $2 from n where i <= 50`,
      [sender, expires_at, answers],
    );
  }
  await submitOnce();
  assert.deepEqual(new Set(await kept()), new Set([50]));
});
