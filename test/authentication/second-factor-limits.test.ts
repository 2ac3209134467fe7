import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { linkIn, openMailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { assertSignedIn, passkeyOptions, postAssertion } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { type Authenticator, wrongCode } from '../support/two-factor.ts';

type Given = { signet: Signet; user: TestUser; app: Authenticator };

/** A user with TOTP, in a browser that has passed the second step. */
async function withTotp(t: TestContext, engine: Engine, env: Record<string, string> = {}): Promise<Given> {
  const signet = await startSignet(t, { engine, env });
  const user = await signet.signedInUser();
  const app = await user.enableTotp();
  signet.clock.advance(60);
  await user.signIn();
  assert.equal((await user.giveCode(app.code())).status, 303);
  return { signet, user, app };
}

/** Wrong codes by an attacker with the password, each sign-in left before its last try. @returns the statuses. */
async function guess(here: Given, count: number, browser?: TestUser['browser']): Promise<number[]> {
  const statuses: number[] = [];
  for (let left = count; left > 0; left -= 4) {
    const thief = await here.user.awaitingSecondFactor(browser);
    for (let tries = 0; tries < Math.min(left, 4); tries += 1) {
      statuses.push((await thief.giveCode(wrongCode(here.signet, here.app.secret))).status);
    }
  }
  return statuses;
}

/** Ten an hour, as long as it takes. */
async function guessForHours(here: Given, hours: number, browser?: TestUser['browser']): Promise<number[]> {
  const statuses: number[] = [];
  for (let hour = 0; hour < hours; hour += 1) {
    statuses.push(...(await guess(here, 10, browser)));
    here.signet.clock.advance(3600);
  }
  return statuses;
}

const statusOf = async (user: Promise<TestUser>, code: () => string) => (await (await user).giveCode(code())).status;
/** The lowest that can be set, where the number itself is not what is tested. */
const twentyInARow = { SIGNET_LIMIT_CODES_IN_A_ROW: '20' };

const all = (count: number, status: number) => Array.from({ length: count }, () => status);

onBothEngines(
  'MF-02: guesses that use up the codes of an hour block neither the known browser nor a backup code',
  async (t, engine) => {
    const here = await withTotp(t, engine);
    const { user, app } = here;
    assert.deepEqual(await guess(here, 11), [...all(10, 401), 429]);
    assert.equal(
      await statusOf(here.user.awaitingSecondFactor(), app.code),
      429,
      'the right code from anywhere else waits',
    );
    assert.equal(
      await statusOf(here.user.awaitingSecondFactor(user.browser), app.code),
      303,
      'the own browser does not',
    );
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 429, 'and accepts no other browser');

    // Nor do wrong backup codes count, and a right one opens the hour again.
    for (let tries = 0; tries < 12; tries += 1) {
      assert.equal(
        await statusOf(here.user.awaitingSecondFactor(), () => `${app.backup_codes[9]!.slice(0, -4)}0000`),
        401,
      );
    }
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), () => app.backup_codes[0]!), 303);
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);
  },
);

onBothEngines('MF-02: the own browser has its own ten an hour, and no more', async (t, engine) => {
  const here = await withTotp(t, engine);
  const { signet, user, app } = here;
  assert.deepEqual(await guess(here, 11, user.browser), [...all(10, 401), 429]);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(user.browser), app.code), 429);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);
  signet.clock.advance(3600);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(user.browser), app.code), 303);
});

test('MF-02: a browser that a thief used before there was a second factor is no known one', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const thief = signet.newBrowser();
  assert.equal((await user.with({ browser: thief }).signIn()).status, 303);
  signet.clock.advance(60);
  const here = { signet, user, app: await user.enableTotp() };
  assert.deepEqual(await guess(here, 10), all(10, 401));
  assert.deepEqual(await guess(here, 1, thief), [429]);
});

testSignet('MF-02: the browser that turned the second factor on is a known one from then on', async ({ signet }) => {
  const user = await signet.signedInUser();
  signet.clock.advance(60);
  const here = { signet, user, app: await user.enableTotp() };
  assert.deepEqual(await guess(here, 11), [...all(10, 401), 429]);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(user.browser), here.app.code), 303);
});

onBothEngines(
  'MF-02: a hundred wrong codes in a row end the codes, until another factor is right',
  async (t, engine) => {
    const here = await withTotp(t, engine);
    const { signet, user, app } = here;
    assert.deepEqual(await guessForHours(here, 9), all(90, 401));
    // Of the last ten one is the hundredth, which is not looked at any more.
    assert.deepEqual(await guess(here, 10), [...all(9, 401), 403]);
    signet.clock.advance(3600);
    const half = await here.user.awaitingSecondFactor();
    const refused = await half.giveCode(app.code());
    assert.equal(refused.status, 403);
    assert.match(refused.text, sentence('second_factor.disabled'));
    assert.match(refused.text, /name="code"/, 'the page still takes a backup code');
    signet.clock.advance(400 * 86_400);
    await signet.runJobs();
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 403, 'time does not open it');
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), () => app.backup_codes[0]!), 303);
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);

    assert.ok((await signet.auditLog({ target: user.user_id, reason: 'codes_disabled' })).length > 0);
  },
);

onBothEngines('MF-02: too many in a row elsewhere leave the own browser in, and a passkey', async (t, engine) => {
  const here = await withTotp(t, engine, twentyInARow);
  const { user, app } = here;
  const authenticator = await user.addPasskey();
  await guessForHours(here, 2);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(user.browser), app.code), 303);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 403);
  const { browser } = await here.user.awaitingSecondFactor();
  const options = await passkeyOptions(browser, '/signin/second-factor/passkey');
  assertSignedIn(await postAssertion(browser, '/signin/second-factor/passkey', authenticator.get(options)), browser);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);
});

onBothEngines('MF-02: a right code ends the row that it stands in, and a new secret begins anew', async (t, engine) => {
  const here = await withTotp(t, engine, twentyInARow);
  const { user, app } = here;
  await guessForHours(here, 1);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);
  assert.deepEqual(await guessForHours(here, 1), all(10, 401));
  await guessForHours(here, 1);
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 403);
  await here.user.awaitingSecondFactor(user.browser);
  assert.equal((await user.giveCode(app.code())).status, 303);
  const renewed = await user.enableTotp();
  assert.equal(await statusOf(here.user.awaitingSecondFactor(), renewed.code), 303);
});

onBothEngines(
  'MF-02: a change of the password clears the hourly limit, and a reset does not raise the limit of codes in a row',
  async (t, engine) => {
    const mailbox = await openMailbox(t);
    const here = await withTotp(t, engine, { SIGNET_SMTP_URL: mailbox.url, ...twentyInARow });
    const { signet, user, app } = here;
    await guess(here, 10);
    const change = { password: 'another set of words here' };
    assert.equal((await user.browser.postJson('/v1/me/password', change)).status, 204);
    user.password = change.password;
    assert.equal(await statusOf(here.user.awaitingSecondFactor(), app.code), 303);

    let looked = 0;
    for (let resets = 0; resets < 4; resets += 1) {
      looked += (await guess(here, 10)).filter((status) => status === 401).length;
      assert.equal((await signet.newBrowser().post('/reset', { email: user.email })).status, 303);
      const link = linkIn(await mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\/./);
      user.password = `a phrase that is number ${resets}`;
      await signet.newBrowser().post(link, { password: user.password });
      signet.clock.advance(1800);
    }
    assert.equal(looked, 19);
  },
);

test('MF-02: of guesses at once no more are looked at than one after the other', async (t) => {
  const here = await withTotp(t, 'sqlite');
  const wrong = wrongCode(here.signet, here.app.secret);
  const thieves = await Promise.all(Array.from({ length: 8 }, () => here.user.awaitingSecondFactor()));
  const answers = await Promise.all(
    thieves.flatMap((thief) => Array.from({ length: 4 }, () => thief.giveCode(wrong).then(({ status }) => status))),
  );
  assert.equal(answers.filter((status) => status === 401).length, 10);
});

onBothEngines('NO-01: guesses are reported by mail from the first on, and at most once an hour', async (t, engine) => {
  const mailbox = await openMailbox(t);
  const here = await withTotp(t, engine, { SIGNET_SMTP_URL: mailbox.url });
  const { signet, user, app } = here;
  await signet.runJobs();
  const mailsSent = async () => {
    await signet.runJobs();
    return mailbox.mails.filter(({ subject }) => sentence('mail.second_factor_wrong.subject').test(subject)).length;
  };
  // A slip on a known device is not worth a mail.
  const home = await here.user.awaitingSecondFactor(user.browser);
  assert.equal((await home.giveCode(wrongCode(signet, app.secret))).status, 401);
  assert.equal(await mailsSent(), 0);
  await home.giveCode(app.code());

  await guess(here, 1);
  const mail = await mailbox.next(user.email, sentence('mail.second_factor_wrong.subject'));
  assert.match(mail.text, /127\.0\.0\.1/);
  await guess(here, 8);
  assert.equal(await mailsSent(), 1, 'once an hour');
  signet.clock.advance(3600);
  for (let hours = 0; hours < 11; hours += 1) {
    await guess(here, 10);
    signet.clock.advance(3600);
  }
  assert.ok((await mailsSent()) >= 10, 'and each hour');
  await mailbox.next(user.email, sentence('mail.codes_disabled.subject'));
  await guess(here, 3);
  await signet.runJobs();
  assert.equal(
    mailbox.mails.filter(({ subject }) => sentence('mail.codes_disabled.subject').test(subject)).length,
    1,
    'once a day',
  );
});

test('NO-01: sign-ins that end by five wrong codes are reported by a limited number of mails', async (t) => {
  const mailbox = await openMailbox(t);
  const here = await withTotp(t, 'sqlite', { SIGNET_SMTP_URL: mailbox.url });
  const wrong = `${here.app.backup_codes[0]!.slice(0, -4)}0000`; // not counted, so nothing else would stop it
  for (let signIns = 0; signIns < 8; signIns += 1) {
    const thief = await here.user.awaitingSecondFactor();
    for (let tries = 0; tries < 5; tries += 1) assert.equal((await thief.giveCode(wrong)).status, 401);
  }
  await here.signet.runJobs();
  assert.equal(
    mailbox.mails.filter(({ subject }) => sentence('mail.second_factor_refused.subject').test(subject)).length,
    3,
  );
});

test('nothing that was counted outlives a deleted account', async (t) => {
  const here = await withTotp(t, 'sqlite');
  const { signet, user } = here;
  await guess(here, 3);
  const counters = () => plain(signet.deps.db).all<{ counter_key: string }>('select counter_key from failure_counters');
  const theirs = async () => (await counters()).filter(({ counter_key }) => /^(totp|second)/.test(counter_key));
  assert.equal((await theirs()).length, 2);
  const answer = await user.browser.send('/v1/me', {
    method: 'DELETE',
    body: JSON.stringify({ email: user.email }),
    headers: { origin: signet.url, 'content-type': 'application/json' },
  });
  assert.equal(answer.status, 204, answer.text);
  assert.deepEqual(await theirs(), []);
});
