import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUserByEmail } from '../../src/accounts/statements.ts';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import type { Browser } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const phrase = 'harbour velvet cactus ninety';
const other = 'walnut theorem gravel sunrise';

/** Asks for an account and opens the mail. */
async function signUpLink(signet: Signet, email: string, fields: Record<string, string> = {}) {
  const browser = signet.newBrowser();
  const asked = await browser.post('/signup', { email, ...fields });
  assert.equal(asked.status, 303, asked.text);
  return { browser, path: linkIn(await signet.mailbox.next(email), /^\/signup\//) };
}

const me = async (browser: Browser) => (await browser.get('/v1/me')).json ?? {};

testSignet('a user signs up with a link from a mail', { mail: true }, async ({ signet, mailbox, t }) => {
  await t.test('the link asks for name and password, makes a verified account and signs in', async () => {
    const { browser, path } = await signUpLink(signet, 'new@example.com');
    for (let looks = 0; looks < 3; looks += 1) assert.equal((await browser.get(path)).status, 200); // as scanners do
    const weak = await browser.post(path, { name: 'Ada', password: 'short' });
    assert.equal(weak.status, 400);
    assert.match(weak.text, sentence('problem.password.short', { min: 15 }));
    assert.match(weak.text, /<input id="password"[^>]*aria-invalid="true" autofocus>/);
    assert.doesNotMatch(weak.text, /<input id="name"[^>]*autofocus/);
    assert.equal((await browser.post(path, { name: '', password: phrase })).status, 400);
    const made = await browser.post(path, { name: 'Ada', password: phrase }, { 'accept-language': 'de' });
    assert.deepEqual([made.status, made.location], [303, '/account']);
    const { email, email_verified, name, locale, role } = await me(browser);
    assert.deepEqual([email, email_verified, name, locale, role], ['new@example.com', true, 'Ada', 'de', 'user']);
    assert.deepEqual((await me(browser)).session && (await sessionOf(browser)).amr, ['pwd']);
    const again = await signet.newBrowser().post(path, { name: 'Eve', password: phrase });
    assert.equal(again.status, 400);
    assert.equal((await signet.newBrowser().get(path)).status, 400);
    assert.deepEqual(again.headers.getSetCookie(), []);
  });

  await t.test('an address that has an account gets a mail that says so, and its owner keeps it', async () => {
    const user = await signet.newUser();
    const asked = await signet.newBrowser().post('/signup', { email: ` ${user.email.toUpperCase()} ` });
    assert.deepEqual([asked.status, asked.location], [303, '/signup/sent']);
    const mail = await mailbox.next(user.email, sentence('mail.sign_up_taken.subject'));
    assert.ok(linkIn(mail, /^\/signin$/) && linkIn(mail, /^\/reset$/));
    assert.doesNotMatch(mail.text, /\/signup\//);
    assert.equal((await user.signIn()).status, 303);
  });

  await t.test('the link lasts for a day', async () => {
    const { browser, path } = await signUpLink(signet, 'late@example.com');
    signet.clock.advance(86_399);
    assert.equal((await browser.get(path)).status, 200);
    signet.clock.advance(1);
    const late = await browser.post(path, { name: 'Late', password: phrase });
    assert.equal(late.status, 400);
    assert.match(late.text, sentence('link.spent.sign_up'));
    assert.match(late.text, /id="way-back" href="\/signup"/);
    assert.equal(await findUserByEmail(signet.deps, 'late@example.com'), undefined);
  });

  await t.test('of two links for one address the second says that the account is there', async () => {
    const first = await signUpLink(signet, 'twice@example.com');
    const second = await signUpLink(signet, 'twice@example.com');
    assert.equal((await first.browser.post(first.path, { name: 'One', password: phrase })).status, 303);
    const late = await second.browser.post(second.path, { name: 'Two', password: other });
    assert.equal(late.status, 409);
    assert.match(late.text, sentence('problem.email.taken'));
    assert.equal((await me(first.browser)).name, 'One');
  });
});

const sessionOf = async (browser: Browser) => (await me(browser)).session as { amr: string[]; auth_time: number };

test('a new account goes on to the application that sent its user, in the same browser', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const client = await signet.registerClient();
  const browser = signet.newBrowser();
  const sent = await browser.get(client.authorizePath());
  const { searchParams } = new URL(sent.location, signet.url);
  const request = searchParams.get('request') ?? '';
  const page = await browser.get(`/signup?request=${request}`);
  assert.ok(page.text.includes(request), 'the form does not carry the request');
  await browser.post('/signup', { email: 'app@example.com', request });
  const path = linkIn(await signet.mailbox.next('app@example.com'), /^\/signup\//);
  assert.ok(!path.includes(request));

  const elsewhere = signet.newBrowser();
  assert.equal((await elsewhere.get(path)).status, 200);
  const made = await browser.post(path, { name: 'App', password: phrase });
  assert.equal(made.location, `/oauth/authorize/continue?request=${request}`);
  const done = await browser.get(made.location);
  assert.ok(redirectedTo(done).get('code'), done.text);
});

test('a new account goes where the user was going, if that is ours', async (t) => {
  const signet = await startSignet(t, { mail: true });
  for (const [next, place] of [
    ['/account/sessions', '/account/sessions'],
    ['//evil.example/', '/account'],
    ['https://evil.example/', '/account'],
  ] as const) {
    const { path, browser } = await signUpLink(signet, `n${next.length}${next.length % 7}@example.com`, { next });
    const made = await browser.post(path, { name: 'Next', password: phrase });
    assert.equal(made.location, place, next);
  }
});

test('without sign-up the page says who makes accounts', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_SIGN_UP: 'off' } });
  const browser = signet.newBrowser();
  for (const answer of [
    await browser.get('/signup'),
    await browser.post('/signup', { email: 'a@example.com' }),
    await browser.get('/signup/ln_x'),
    await browser.post('/signup/ln_x', {}),
  ]) {
    assert.equal(answer.status, 404);
    assert.match(answer.text, sentence('signup.off'));
  }
  assert.equal((await browser.get('/reset')).status, 200);
  assert.doesNotMatch((await browser.get('/signin')).text, /\/signup/);
});

testSignet(
  'an address that an operator typed is verified by its reader',
  { mail: true },
  async ({ signet, mailbox }) => {
    const user = await signet.signedInUser({ email: 'typed@example.com', emailVerified: false });
    const { browser } = user;
    assert.match((await browser.get('/account/email')).text, sentence('account.unverified'));
    assert.equal((await browser.post('/account/email/verify')).location, '/account/email?done=link_sent');
    const path = linkIn(await mailbox.next(user.email), /^\/verify-email\//);

    const stranger = signet.newBrowser();
    assert.match((await stranger.get(path)).text, sentence('email.sign_in_first'));
    const unsigned = await stranger.post(path);
    assert.equal(unsigned.location, '/signin?next=%2Faccount%2Femail%3Funfinished%3D1');
    const neighbour = await signet.signedInUser();
    assert.equal((await neighbour.browser.get(path)).status, 403);
    assert.equal((await neighbour.browser.post(path)).status, 403);
    assert.equal((await browser.get(path)).status, 200);
    assert.equal((await me(browser)).email_verified, false);

    assert.equal((await browser.post(path)).location, '/account/email?done=verified');
    assert.equal((await me(browser)).email_verified, true);
    assert.equal((await browser.post(path)).status, 400);
    assert.equal((await browser.post('/account/email/verify')).status, 409);
    assertRefused(await browser.postJson('/v1/me/email/verify', {}), 409, 'invalid_state');
    const actions = (await signet.auditLog({ target: user.user_id })).map(({ action }) => action);
    assert.equal(actions.filter((action) => action === 'email.verified').length, 1);
  },
);

test('a link verifies only the address that it was sent to', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const user = await signet.signedInUser({ email: 'moved@example.com', emailVerified: false });
  await user.browser.postJson('/v1/me/email/verify', {});
  const old = linkIn(await mailbox.next('moved@example.com'), /^\/verify-email\//);
  await user.browser.postJson('/v1/me/email', { email: 'there@example.com' });
  const fresh = linkIn(await mailbox.next('there@example.com'), /^\/verify-email\//);
  assert.equal((await user.browser.post(fresh)).status, 303);
  assert.equal((await user.browser.post(old)).status, 400);
  assert.deepEqual(
    [(await me(user.browser)).email, (await me(user.browser)).email_verified],
    ['there@example.com', true],
  );
});

testSignet(
  'an address changes when its new mailbox is shown to be theirs',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    const user = await signet.signedInUser();
    const { browser } = user;

    await t.test('the link goes to the new address, the word of the change to the old one', async () => {
      const asked = await browser.post('/account/email/change', { email: 'Fresh@example.com' });
      assert.equal(asked.location, '/account/email?done=change_sent');
      const mail = await mailbox.next('Fresh@example.com');
      assert.ok(!mail.text.includes('Person'), 'the mail to a stranger contains a name that its sender chose');
      const path = linkIn(mail, /^\/verify-email\//);
      assert.equal((await browser.get(path)).status, 200);
      assert.equal((await me(browser)).email, user.email);
      assert.equal((await browser.post(path)).location, '/account/email?done=changed');
      assert.match(
        (await mailbox.next(user.email)).text,
        sentence('mail.email_changed.text', { new_email: 'Fresh@example.com' }),
      );
      const { email, email_verified, sub } = await me(browser);
      assert.deepEqual([email, email_verified, sub], ['Fresh@example.com', true, user.user_id]);
      assert.equal((await browser.post(path)).status, 400);
      assert.equal((await user.elsewhere().signIn()).status, 401);
      const moved = user.elsewhere().with({ email: 'fresh@example.com' });
      assert.equal((await moved.signIn()).status, 303);
    });

    await t.test('a taken address is answered alike, ends the same links, and its owner gets a mail', async () => {
      const owner = await signet.newUser();
      await browser.postJson('/v1/me/email', { email: 'earlier@example.com' });
      const earlier = linkIn(await mailbox.next('earlier@example.com'), /^\/verify-email\//);
      const taken = await browser.postJson('/v1/me/email', { email: owner.email });
      const free = await browser.postJson('/v1/me/email', { email: 'free@example.com' });
      assert.deepEqual([taken.status, taken.text], [free.status, free.text]);
      assert.equal(taken.status, 202);
      assert.equal((await browser.get(earlier)).status, 400);
      const mail = await mailbox.next(owner.email);
      assert.doesNotMatch(mail.text, /verify-email/);
    });

    await t.test('an address that was taken meanwhile is refused, and nothing is used up', async () => {
      await browser.postJson('/v1/me/email', { email: 'soon@example.com' });
      const path = linkIn(await mailbox.next('soon@example.com'), /^\/verify-email\//);
      await signet.newUser({ email: 'soon@example.com' });
      assert.equal((await browser.post(path)).status, 409);
      assert.equal((await me(browser)).email, 'Fresh@example.com');
    });

    await t.test('the own address, and what is none, are refused by name', async () => {
      for (const email of ['Fresh@example.com', '', 'nobody', 'a@b,c@d', 'a@b\r\nBcc: c@d']) {
        assert.equal((await browser.post('/account/email/change', { email })).status, 400, email);
        assertRefused(await browser.postJson('/v1/me/email', { email }), 400, 'invalid_request');
      }
      assertRefused(await browser.postJson('/v1/me/email', { email: ['a@b', 'c@d'] }), 400, 'invalid_request');
      assertRefused(await browser.postJson('/v1/me/email', { email: 'a@b.c', role: 'admin' }), 400, 'invalid_request');
    });
  },
);

testSignet('a changed password ends all that the old one had opened', { mail: true }, async ({ signet, mailbox }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const tokens = await user.obtainTokens(client);
  const elsewhere = await user.signedInElsewhere();
  await mailbox.next(user.email, sentence('mail.new_device.subject'));
  const before = new Map(user.browser.cookies);
  const { auth_time } = await sessionOf(user.browser);
  signet.clock.advance(60);

  const weak = await user.browser.post('/account/security/password', { password: 'password123456789' });
  assert.equal(weak.status, 400);
  assert.ok(!weak.text.includes('password123456789'));
  const changed = await user.browser.post('/account/security/password', { password: phrase });
  assert.equal(changed.location, '/account/security/password?done=changed');

  assert.equal((await sessionOf(user.browser)).auth_time, auth_time, 'no sign-in happened');
  assert.equal((await elsewhere.browser.get('/v1/me')).status, 401);
  const thief = signet.newBrowser();
  for (const [name, value] of before) thief.cookies.set(name, value);
  assert.equal((await thief.get('/v1/me')).status, 401, 'the old cookie works');
  assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
  assert.equal((await user.elsewhere().signIn()).status, 401);
  assert.equal((await user.with({ password: phrase, browser: signet.newBrowser() }).signIn()).status, 303);
  await user.authorize(client); // the session that changed it goes on

  await mailbox.next(user.email, sentence('mail.password_changed.subject'));
  const actions = (await signet.auditLog({ target: user.user_id })).map(({ action }) => action);
  assert.equal(actions.filter((action) => action.startsWith('password.')).length, 1);
  assert.equal(
    mailbox.mails.filter(({ subject }) => sentence('mail.password_changed.subject').test(subject)).length,
    1,
  );
});

testSignet(
  'a password is set and removed, but never as the last sign-in method',
  { mail: true },
  async ({ signet, mailbox }) => {
    const { browser, user_id, email } = await signet.signedInUser();
    assert.match((await browser.get('/account/security/password')).text, sentence('password.last_sign_in_method'));
    assert.equal((await browser.post('/account/security/password/remove')).status, 409);
    assertRefused(await browser.send('/v1/me/password', deletion(signet)), 409, 'invalid_state');
    assert.equal((await browser.get('/v1/me')).status, 200);

    await plain(signet.deps.db).run(
      `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ('c', $1, 'k', 0, '', 'Key', 0)`,
      [user_id],
    );
    await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [user_id, twoFactors]); // shown in it
    const gone = await browser.post('/account/security/password/remove');
    assert.equal(gone.location, '/account/security/password?done=removed');
    await mailbox.next(email, sentence('mail.password_removed.subject'));
    assertRefused(await browser.send('/v1/me/password', deletion(signet)), 409, 'invalid_state');
    assert.equal((await browser.postJson('/v1/me/password', { password: phrase })).status, 204);
    await mailbox.next(email, sentence('mail.password_set.subject'));
    assert.equal((await browser.send('/v1/me/password', deletion(signet))).status, 204);
    assert.equal((await browser.get('/v1/me')).status, 200);
  },
);

const deletion = ({ url }: Signet, body?: unknown): RequestInit => ({
  method: 'DELETE',
  headers: { origin: url, ...(body ? { 'content-type': 'application/json' } : {}) },
  body: body ? JSON.stringify(body) : undefined,
});

test('SS-06: a change of sign-in methods requires a sign-in within the last 15 minutes', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { browser, email } = await signet.signedInUser();
  signet.clock.advance(901);
  const pages = [
    ['/account/security/password', '/account/security/password'],
    ['/account/security/password/remove', '/account/security/password'],
    ['/account/email/change', '/account/email/change'],
    ['/account/delete', '/account/delete'],
  ] as const;
  for (const [path, form] of pages) {
    const answer = await browser.post(path, { password: phrase, email });
    assert.equal(answer.location, `/signin/confirm?${new URLSearchParams({ next: `${form}?unfinished=1` })}`, path);
  }
  for (const answer of [
    await browser.postJson('/v1/me/password', { password: phrase }),
    await browser.send('/v1/me/password', deletion(signet)),
    await browser.postJson('/v1/me/email', { email: 'x@example.com' }),
    await browser.send('/v1/me', deletion(signet, { email })),
  ]) {
    assertRefused(answer, 403, 'reauthentication_required');
  }
  const stranger = signet.newBrowser();
  assertRefused(await stranger.postJson('/v1/me/password', { password: phrase }), 401, 'login_required');
  assertRefused(await stranger.send('/v1/me', deletion(signet, { email })), 401, 'login_required');
  await signet.runJobs();
  assert.deepEqual(mailbox.mails, []);
});

testSignet(
  'a deleted account is gone at once, and its address can be used again',
  { mail: true },
  async ({ signet, mailbox }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const visitor = await signet.signedInUser();
    const tokens = await user.obtainTokens(client);
    assert.equal((await user.browser.get('/account/delete')).status, 200);
    assert.equal((await user.browser.post('/account/delete', { email: 'wrong@example.com' })).status, 400);
    assertRefused(await user.browser.send('/v1/me', deletion(signet, { email: '' })), 400, 'invalid_request');
    assert.equal((await user.browser.get('/v1/me')).status, 200);

    const elsewhere = await user.signedInElsewhere();
    const gone = await user.browser.post('/account/delete', { email: user.email.toUpperCase() });
    assert.equal(gone.location, '/account-deleted');
    assert.ok(!user.browser.cookies.has('signet_identity_session'));
    assert.equal((await user.browser.get('/account-deleted')).status, 200);
    assert.equal((await elsewhere.browser.get('/v1/me')).status, 401);
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
    assert.equal((await user.elsewhere().signIn()).status, 401);
    await mailbox.next(user.email, sentence('mail.account_deleted.subject'));
    await visitor.authorize(client); // what they registered still serves the others

    const heir = await signet.newUser({ email: user.email });
    assert.notEqual(heir.user_id, user.user_id, 'JW-07: a subject is never reassigned');
    const actions = (await signet.auditLog({ target: user.user_id })).map(({ action }) => action);
    assert.equal(actions.filter((action) => action === 'user.deleted').length, 1);
  },
);

testSignet('the last administrator stays, also when two go at the same moment', { mail: true }, async ({ signet }) => {
  const one = await signet.signedInUser({ role: 'admin' });
  assert.match((await one.browser.get('/account/delete')).text, sentence('delete.last_administrator'));
  assertRefused(await one.browser.send('/v1/me', deletion(signet, { email: one.email })), 409, 'invalid_state');
  const two = await signet.signedInUser({ role: 'admin' });
  const answers = await Promise.all(
    [one, two].map(({ browser, email }) => browser.send('/v1/me', deletion(signet, { email }))),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409]);
});
