import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { removePassword, setPassword } from '../../src/authentication/credentials/passwords.store.ts';
import { passwordLimits } from '../../src/authentication/passwords/password-limits.ts';
import type { Answer } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { assertRefused, claimsOf, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall, holdNextCall } from '../support/store-spy.ts';

const phrase = 'harbour velvet cactus ninety';
const ask = (signet: Signet, email: string, headers: Record<string, string> = {}) =>
  signet.newBrowser().post('/reset', { email }, headers);

/** Asks for a reset and opens the mail. */
async function resetLink(signet: Signet, email: string): Promise<string> {
  assert.equal((await ask(signet, email)).status, 303);
  return linkIn(await signet.mailbox.next(email, sentence('mail.reset.subject')), /^\/reset\/./);
}

const spend = (signet: Signet, path: string, password = phrase, browser = signet.newBrowser()) =>
  browser.post(path, { password });

testSignet('PW-04: a reset link', { mail: true }, async ({ signet, mailbox, t }) => {
  await t.test('PW-04: works once, and ends every session and grant there was', async () => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient();
    const tokens = await user.obtainTokens(client);
    const path = await resetLink(signet, user.email);
    for (let looks = 0; looks < 3; looks += 1) assert.equal((await signet.newBrowser().get(path)).status, 200);
    assert.equal((await user.browser.get('/v1/me')).status, 200, 'asking changes nothing');
    const weak = await spend(signet, path, 'short');
    assert.equal(weak.status, 400);
    assert.match(weak.text, sentence('problem.password.short', { min: 15 }));

    const browser = signet.newBrowser();
    const done = await spend(signet, path, phrase, browser);
    assert.deepEqual([done.status, done.location], [303, '/account']);
    const { session, sub } = (await browser.get('/v1/me')).json as { sub: string; session: { amr: string[] } };
    assert.deepEqual([sub, session.amr], [user.user_id, ['pwd']]);
    assert.equal((await user.browser.get('/v1/me')).status, 401);
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.equal((await spend(signet, path)).status, 400);
    assert.equal((await signet.newBrowser().get(path)).status, 400);
    assert.equal((await user.signIn()).status, 401);
    assert.equal((await user.with({ password: phrase }).signIn()).status, 303);
    await mailbox.next(user.email, sentence('mail.password_reset.subject'));
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'password.reset' })).length, 1);
  });

  await t.test('PW-04: expires after 30 minutes', async () => {
    const user = await signet.newUser();
    const path = await resetLink(signet, user.email);
    signet.clock.advance(1799);
    assert.equal((await signet.newBrowser().get(path)).status, 200);
    signet.clock.advance(1);
    assert.equal((await signet.newBrowser().get(path)).status, 400);
    assert.equal((await spend(signet, path)).status, 400);
    assert.equal((await user.signIn()).status, 303);
  });

  await t.test('PW-04: dies when a newer one is asked for, one at a time and at once', async () => {
    const user = await signet.newUser();
    const first = await resetLink(signet, user.email);
    const second = await resetLink(signet, user.email);
    assert.equal((await spend(signet, first)).status, 400);
    assert.equal((await signet.newBrowser().get(second)).status, 200);
    await Promise.all([ask(signet, user.email), ask(signet, user.email)]);
    const links = [];
    for (let mails = 0; mails < 2; mails += 1) {
      links.push(linkIn(await mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\/./));
    }
    const statuses = [];
    for (const link of [second, ...links]) statuses.push((await signet.newBrowser().get(link)).status);
    assert.deepEqual(statuses.toSorted(), [200, 400, 400]);
  });

  await t.test('PW-04: dies with a change of the password or the address', async () => {
    const user = await signet.signedInUser();
    const path = await resetLink(signet, user.email);
    await user.browser.postJson('/v1/me/password', { password: phrase });
    assert.equal((await spend(signet, path, 'another phrase of mine')).status, 400);

    const again = await resetLink(signet, user.email);
    await user.browser.postJson('/v1/me/email', { email: `moved-${user.email}` });
    await user.browser.post(linkIn(await mailbox.next(`moved-${user.email}`), /^\/verify-email\//));
    assert.equal((await spend(signet, again)).status, 400);
  });

  await t.test('PW-04: of a user disabled since opens nothing', async () => {
    const user = await signet.newUser();
    const path = await resetLink(signet, user.email);
    await disableUser(signet.deps, { actor: 'cli' }, user.user_id);
    const done = await spend(signet, path);
    assert.equal(done.status, 400);
    assert.deepEqual(done.headers.getSetCookie(), []);
  });

  await t.test('PW-04: is accepted for no other purpose', async () => {
    const user = await signet.signedInUser();
    const token = (await resetLink(signet, user.email)).split('/').at(-1);
    for (const path of [`/signup/${token}`, `/verify-email/${token}`, `/invite/${token}`]) {
      assert.equal((await user.browser.get(path)).status, 400, path);
      assert.equal((await user.browser.post(path, { name: 'A', email: 'a@b.c', password: phrase })).status, 400, path);
    }
    const { email } = await signet.newUser();
    await signet.newBrowser().post('/signup', { email: `x-${email}` });
    const signUp = linkIn(await mailbox.next(`x-${email}`), /^\/signup\/./)
      .split('/')
      .at(-1);
    assert.equal((await spend(signet, `/reset/${signUp}`)).status, 400);
  });

  await t.test('PW-02: opens an account again that a hundred wrong passwords have closed', async () => {
    const user = await signet.newUser();
    for (let tries = 0; tries < 100; tries += 1) {
      await passwordLimits(signet.deps).failed(user.email, '198.51.100.1');
      signet.clock.advance(3600);
    }
    assert.equal((await user.signIn()).status, 403);
    assert.equal((await spend(signet, await resetLink(signet, user.email))).status, 303);
    assert.equal((await user.with({ password: phrase }).signIn()).status, 303);
  });

  await t.test('sets the first password of a user who had none, and verifies the address', async () => {
    const { user_id } = await signet.newUser({ email: 'first@example.com', emailVerified: false });
    const { sql, params } = removePassword(user_id);
    await plain(signet.deps.db).run(sql, params);
    const browser = signet.newBrowser();
    assert.equal((await spend(signet, await resetLink(signet, 'first@example.com'), phrase, browser)).status, 303);
    assert.equal((await browser.get('/v1/me')).json?.email_verified, true);
  });
});

testSignet('PW-04: a reset does not lead past the second factor', { mail: true }, async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const authenticator = await user.enableTotp();
  const browser = signet.newBrowser();
  const waiting = new URL((await browser.get(client.authorizePath())).location, signet.url);
  await browser.post('/reset', { email: user.email, request: waiting.searchParams.get('request') ?? '' });
  const path = linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\/./);
  const done = await browser.post(path, { password: 'vivid8ch' }); // 8 characters are enough beside a second factor
  assert.deepEqual([done.status, done.location], [303, '/signin/second-factor']);
  assert.equal((await browser.get('/v1/me')).status, 401);
  assert.ok(!browser.cookies.has('signet_identity_session'));
  const goOn = `/oauth/authorize/continue${waiting.search}`;
  assert.equal(redirectedTo(await browser.get(goOn)).get('code'), null);

  const home = await browser.post('/signin/second-factor', { code: authenticator.code() });
  assert.equal(home.location, goOn);
  const code = redirectedTo(await browser.get(goOn)).get('code') ?? '';
  const { amr } = claimsOf(tokensOf(await client.redeem(code)).id_token);
  assert.deepEqual(amr, ['pwd', 'otp', 'mfa']);

  const asks = sentence('password.if_short', { min: 15, short: 8 });
  const passwordPage = async (of: typeof browser) => (await of.get('/account/security/password')).text;
  assert.doesNotMatch(await passwordPage(browser), asks);
  assert.equal((await browser.delete('/v1/me/2fa/totp')).status, 204);
  assert.match(await passwordPage(browser), asks);
  const other = await signet.signedInUser(); // whose password never had a second factor beside it
  assert.doesNotMatch(await passwordPage(other.browser), asks);
});

/** What the requester can see of the answer, and the statements that it took. */
async function outcomeOf(signet: Signet, task: () => Promise<Answer>): Promise<string> {
  const work: string[] = [];
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    // The sending of mails before goes on meanwhile; the promise of one is part of the request.
    if (!sql.some((text) => /^(?!insert).*(outgoing_mails|delete from refused_addresses)/s.test(text)))
      work.push(...sql);
  });
  try {
    const { status, headers, text } = await task();
    return JSON.stringify([status, [...headers].filter(([name]) => name !== 'date'), text, work]);
  } finally {
    stop();
  }
}

test('PW-03: a request for a reset or an account does not disclose who has one', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_RATE_LIMITS: 'off' } });
  const { mailbox } = signet;
  const known = await signet.newUser();
  const disabled = await signet.newUser();
  await disableUser(signet.deps, { actor: 'cli' }, disabled.user_id);
  const federated = await signet.newUser();
  const { sql, params } = removePassword(federated.user_id);
  await plain(signet.deps.db).run(sql, params);
  for (const path of ['/reset', '/signup']) {
    const seen: string[] = [];
    for (const email of ['nobody@example.com', known.email, disabled.email, federated.email]) {
      const browser = signet.newBrowser();
      seen.push(await outcomeOf(signet, () => browser.post(path, { email })));
      seen.push(await outcomeOf(signet, () => browser.get(`${path}/sent`)));
    }
    for (const [place, outcome] of seen.entries()) assert.equal(outcome, seen[place % 2], `${path} ${place}`);
  }
  await signet.runJobs();
  const toReset = mailbox.mails
    .filter(({ subject }) => sentence('mail.reset.subject').test(subject))
    .map(({ to }) => to);
  assert.deepEqual(toReset.toSorted(), [known.email, federated.email].toSorted());
});

test('PW-04: what is not exactly one address is refused, and nothing is sent', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_RATE_LIMITS: 'off' } });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  const send = (path: string, body: string) =>
    signet.newBrowser().send(path, {
      method: 'POST',
      body,
      headers: { origin: signet.url, 'content-type': 'application/x-www-form-urlencoded' },
    });
  const e = encodeURIComponent(email);
  const bodies = [
    `email[]=${e}&email[]=evil%40example.com`,
    `email%5B%5D=${e}`,
    `email=${e}&email=evil%40example.com`,
    `email=${e}%2Cevil%40example.com`,
    `email=${e}%3Bevil%40example.com`,
    `email=${e}%20evil%40example.com`,
    `email=${e}%0D%0ABcc%3A%20evil%40example.com`,
    `email=${e}%0A`,
    `email=%3C${e}%3E`,
    `email=Ada%20%3C${e}%3E`,
    `email=${e}%EF%BC%8Cevil%40example.com`, // a wide comma
    `email=${e}%EF%BC%A0example.com`, // a wide at-sign
    `email=${e}%00`,
    'email=',
    '',
    `email=${'a'.repeat(250)}%40example.com`,
  ];
  for (const path of ['/reset', '/signup']) {
    for (const body of bodies) assert.equal((await send(path, body)).status, 400, `${path} ${body}`);
    assert.equal((await signet.newBrowser().postJson(path, { email })).status, 400);
  }
  await signet.runJobs();
  assert.deepEqual(mailbox.mails, []);
});

test('the mail goes to the address of the account, however it was spelt in the form', async (t) => {
  const signet = await startSignet(t, { mail: true });
  await signet.newUser({ email: 'mike@example.com' });
  for (const spelling of ['MIKE@example.com', ' mike@example.com ', 'mi\u212Ae@example.com', 'ｍike@example.com']) {
    assert.equal((await ask(signet, spelling)).status, 303);
    await signet.mailbox.next('mike@example.com', sentence('mail.reset.subject'));
  }
  await signet.runJobs();
  assert.deepEqual([...new Set(signet.mailbox.mails.map(({ to }) => to))], ['mike@example.com']);
});

test('DM-02: links in mails begin with the base URL, whatever the request says of its host', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  for (const headers of [
    'Host: evil.example',
    `Host: x\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example`,
  ]) {
    const body = `email=${encodeURIComponent(email)}`;
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const request = `POST /reset HTTP/1.1\r\n${headers}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    assert.match((await sendRaw(signet.deps.config.port, request)).text, /^HTTP\/1\.1 303 /);
    const mail = await mailbox.next(email, sentence('mail.reset.subject'));
    assert.ok(mail.text.includes(`${signet.url}/reset/`));
    assert.doesNotMatch(mail.text + mail.headers, /evil/);
  }
});

test('one mailbox gets five reset mails in half an hour; who asks sees no difference', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  for (let times = 0; times < 8; times += 1) assert.equal((await ask(signet, email)).status, 303);
  await signet.runJobs();
  assert.equal(mailbox.mails.length, 5);
  signet.clock.advance(1800);
  assert.equal((await ask(signet, email)).status, 303);
  await signet.runJobs();
  assert.equal(mailbox.mails.length, 6);
});

testSignet(
  'PW-04: repeated requests by others do not keep a user from getting a link',
  { mail: true },
  async ({ signet, mailbox }) => {
    const user = await signet.newUser();
    const newest = async () => {
      await signet.runJobs();
      return linkIn(
        mailbox.mails.findLast(({ to, subject }) => to === user.email && sentence('mail.reset.subject').test(subject))!,
        /^\/reset\/./,
      );
    };
    const asksAllTheTime = async () => {
      for (let times = 0; times < 7; times += 1) assert.equal((await ask(signet, user.email)).status, 303);
    };
    // At any moment of two hours the owner asks, too, and then the newest mail holds a link that opens.
    for (let passed = 0; passed < 7200; passed += 450) {
      await asksAllTheTime();
      assert.equal((await ask(signet, user.email)).status, 303);
      assert.equal((await signet.newBrowser().get(await newest())).status, 200, `after ${passed} s`);
      signet.clock.advance(450);
    }

    // Also right after the newest was used, or has died with a change of the password.
    await asksAllTheTime();
    const browser = signet.newBrowser();
    assert.equal((await spend(signet, await newest(), phrase, browser)).status, 303);
    await ask(signet, user.email);
    assert.equal((await signet.newBrowser().get(await newest())).status, 200);
    await asksAllTheTime();
    await browser.postJson('/v1/me/password', { password: `${phrase} again` });
    await ask(signet, user.email);
    assert.equal((await signet.newBrowser().get(await newest())).status, 200);
  },
);

test('one address asks twenty times in ten minutes', async (t) => {
  const signet = await startSignet(t, { mail: true });
  for (let times = 0; times < 20; times += 1) {
    const path = times % 2 ? '/reset' : '/signup';
    const answer = await signet.newBrowser().post(path, { email: `n${times}@example.com` });
    assert.equal(answer.status, 303);
  }
  const refused = await ask(signet, 'n@example.com');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '600']);
  assert.match(refused.text, sentence('signin.too_many'));
  signet.clock.advance(600);
  assert.equal((await ask(signet, 'n@example.com')).status, 303);
});

test('a signed-in user causes only so many mails, to whomever', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_LIMIT_MAILS_PER_PERSON: '3' } });
  const user = await signet.signedInUser();
  const other = await signet.signedInUser();
  const change = (who: typeof user, times: number) =>
    who.browser.postJson('/v1/me/email', { email: `n${times}@example.com` });
  for (let times = 0; times < 3; times += 1) assert.ok((await change(user, times)).status < 300);
  assertRefused(await change(user, 3), 429, 'rate_limited');
  assert.ok((await change(other, 3)).status < 300, 'another user');
  await signet.runJobs();
  assert.deepEqual(
    signet.mailbox.mails
      .map(({ to }) => to)
      .filter((to) => to.startsWith('n'))
      .sort(),
    ['n0@example.com', 'n1@example.com', 'n2@example.com', 'n3@example.com'],
  );
});

testSignet(
  'FL-01: of twenty uses of a link at once exactly one wins',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    const twenty = <Result>(use: (index: number) => Promise<Result>) =>
      Promise.all(Array.from({ length: 20 }, (_, index) => use(index)));
    const assertOneWinner = (answers: Answer[], place: string) => {
      const won = answers.filter(({ status }) => status === 303);
      assert.equal(won.length, 1, JSON.stringify(answers.map(({ status }) => status)));
      assert.equal(won[0]?.location, place);
      assert.ok(answers.every(({ status }) => status === 303 || status === 400));
    };

    await t.test('FL-01: a reset', async () => {
      const user = await signet.newUser();
      const path = await resetLink(signet, user.email);
      assertOneWinner(await twenty((index) => spend(signet, path, `phrase of racer number ${index}`)), '/account');
    });

    await t.test('FL-01: a sign-up', async () => {
      await signet.newBrowser().post('/signup', { email: 'race@example.com' });
      const path = linkIn(await mailbox.next('race@example.com'), /^\/signup\/./);
      const answers = await twenty((index) => signet.newBrowser().post(path, { name: `N${index}`, password: phrase }));
      assertOneWinner(answers, '/account');
    });

    await t.test('FL-01: a change of address', async () => {
      const user = await signet.signedInUser();
      await user.browser.postJson('/v1/me/email', { email: 'raced@example.com' });
      const path = linkIn(await mailbox.next('raced@example.com'), /^\/verify-email\//);
      assertOneWinner(await twenty(() => user.browser.post(path)), '/account/email?done=changed');
      await signet.runJobs();
      assert.equal(
        mailbox.mails.filter(
          ({ to, subject }) => to === user.email && sentence('mail.email_changed.subject').test(subject),
        ).length,
        1,
      );
    });

    await t.test('FL-01: a verification', async () => {
      const user = await signet.signedInUser({ emailVerified: false });
      await user.browser.post('/account/email/verify');
      const path = linkIn(await mailbox.next(user.email), /^\/verify-email\//);
      assertOneWinner(await twenty(() => user.browser.post(path)), '/account/email?done=verified');
    });

    await t.test('FL-01: a change of password keeps one session and ends all others', async () => {
      const user = await signet.signedInUser();
      const cookies = new Map(user.browser.cookies);
      const browsers = Array.from({ length: 20 }, () => {
        const browser = signet.newBrowser();
        for (const [name, value] of cookies) browser.cookies.set(name, value);
        return browser;
      });
      const answers = await twenty((index) =>
        browsers[index]!.postJson('/v1/me/password', { password: `phrase of racer number ${index}` }),
      );
      const winner = answers.findIndex(({ status }) => status === 204);
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [204, ...new Array(19).fill(401)]);
      const alive = await twenty((index) => browsers[index]!.get('/v1/me'));
      assert.deepEqual(
        alive.flatMap(({ status }, index) => (status === 200 ? [index] : [])),
        [winner],
      );
      const again = user.with({ password: `phrase of racer number ${winner}`, browser: signet.newBrowser() });
      assert.equal((await again.signIn()).status, 303);
      await signet.runJobs();
      assert.equal(
        mailbox.mails.filter(
          ({ to, subject }) => to === user.email && sentence('mail.password_changed.subject').test(subject),
        ).length,
        1,
      );
    });
  },
);

for (const withTotp of [false, true]) {
  test(`PW-04: a sign-in by the old password does not outlive the change that came first (TOTP: ${withTotp})`, async (t) => {
    const signet = await startSignet(t, { mail: true });
    const user = await signet.signedInUser();
    if (withTotp) await user.enableTotp();
    const { db } = signet.deps;
    signet.clock.advance(1);
    const [row] = await plain(db).all<{ password_hash: string }>(
      'select password_hash from passwords where user_id = $1',
      [user.user_id],
    );
    const { reached, release } = holdNextCall(db, /insert into (sessions|sign_in_attempts)/);
    const late = signet.newBrowser();
    const signIn = user.with({ browser: late }).signIn();
    assert.equal(await Promise.race([reached, signIn]), undefined, 'it would begin a session');
    const change = setPassword(
      user.user_id,
      { password_hash: row?.password_hash ?? '', min_characters: 15 },
      signet.clock() / 1000,
    );
    await plain(db).run(change.sql, change.params);
    release();
    const answer = await signIn;
    assert.equal(answer.status, 401);
    assert.deepEqual(answer.headers.getSetCookie(), []);
    assert.equal((await user.with({ browser: late }).signIn()).status, 303);
  });
}
