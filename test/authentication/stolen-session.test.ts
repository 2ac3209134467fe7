import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { completeSignIn } from '../../src/authentication/sessions/complete-sign-in.ts';
import { now } from '../../src/platform/clock.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import type { Answer } from '../support/browser.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { passkeyOptions, passkeysOf, postPasskey, sessionOf } from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { codesOf, totpAt } from '../support/two-factor.ts';

/** A thief has a password or a cookie: what its owner does about it must end what the thief began. */

const phrase = 'harbour velvet cactus ninety';
const enrollPath = '/v1/me/2fa/totp/enroll';
const confirmPath = '/v1/me/2fa/totp/confirm';

const isIn = async ({ browser }: TestUser) => (await browser.get('/v1/me')).status === 200;
const hasTotp = async ({ browser }: TestUser) => (await browser.get('/v1/me')).json?.two_factor_enabled;
const changePassword = async ({ browser }: TestUser) =>
  assert.equal((await browser.postJson('/v1/me/password', { password: phrase })).status, 204);
const enroll = async ({ browser }: TestUser) => String((await browser.postEmpty(enrollPath)).json?.secret_base32);

testSignet(
  'SS-06: a session of one factor takes nothing away once there are two',
  { mail: true },
  async ({ signet, t }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient();
    const thief = await owner.signedInElsewhere();
    const secret = await enroll(owner);
    const code = codesOf(signet, secret);
    const confirmed = await owner.browser.postJson(confirmPath, { code: code() });
    assert.equal(confirmed.status, 200, confirmed.text);

    await t.test('neither factors nor password, passkeys, address and account', async () => {
      const { browser } = thief;
      for (const answer of [
        await browser.postEmpty('/v1/me/2fa/backup-codes'),
        await browser.delete('/v1/me/2fa/totp'),
        await browser.postEmpty(enrollPath),
        await browser.postJson('/v1/me/password', { password: phrase }),
        await browser.delete('/v1/me/password'),
        await browser.postEmpty('/v1/me/passkeys/options'),
        await browser.postJson('/v1/me/email', { email: 'thief@example.com' }),
        await browser.delete('/v1/me', { email: owner.email }),
      ]) {
        assertRefused(answer, 403, 'reauthentication_required');
      }
      const page = '/account/security/totp';
      assert.equal((await browser.get(page)).location, `/signin/confirm?${new URLSearchParams({ next: page })}`);
      assert.equal(await hasTotp(owner), true);
    });

    await t.test('and gets no code, with or without a page', async () => {
      assert.match((await thief.browser.get(client.authorizePath())).location, /^\/signin\?request=/);
      const silent = redirectedTo(await thief.browser.get(client.authorizePath({ prompt: 'none' })));
      assert.equal(silent.get('error'), 'login_required');
    });

    await t.test('the session that turned it on has shown both, and goes on', async () => {
      const { acr, amr } = await sessionOf(owner.browser);
      assert.deepEqual([acr, amr], ['urn:signet:acr:2fa', ['pwd', 'otp', 'mfa']]);
      await owner.authorize(client);
      assert.equal((await owner.browser.postEmpty('/v1/me/2fa/backup-codes')).status, 200);
    });

    await t.test('the other one does so too once it has given the second factor', async () => {
      const { email, password, browser } = thief;
      const first = await browser.post('/signin/confirm', { username: email, password });
      assert.equal(first.location, '/signin/second-factor');
      assert.equal((await thief.giveCode(code())).status, 303);
      await thief.authorize(client);
      assert.equal((await browser.postEmpty('/v1/me/2fa/backup-codes')).status, 200);
    });
  },
);

testSignet(
  'SS-06: the store gives no code to one factor, whatever was read before',
  { mail: true },
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient();
    const thief = await owner.signedInElsewhere();
    const secret = await enroll(owner);
    const held = holdNextCall(signet.deps.db, /insert into grants/);
    const asking = thief.browser.get(client.authorizePath());
    await held.reached;
    const code = totpAt(secret, now(signet.deps));
    assert.equal((await owner.browser.postJson(confirmPath, { code })).status, 200);
    held.release();
    assert.match((await asking).location, /^\/signin\?request=/);
  },
);

testSignet(
  'SS-05: turning a second factor on ends other sessions if asked to, and never its own',
  { mail: true },
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const other = await owner.signedInElsewhere();
    const cookie = owner.browser.cookies.get('signet_identity_session');
    await owner.enableTotp();
    assert.equal(await isIn(other), true, 'nothing asked for its end');
    assert.equal(await isIn(owner), true);
    assert.equal(owner.browser.cookies.get('signet_identity_session'), cookie, 'specification 4.15: no new cookie');
    assert.equal((await sessionOf(owner.browser)).acr, 'urn:signet:acr:2fa');
    assert.equal((await owner.browser.postEmpty('/v1/me/2fa/backup-codes')).status, 200);

    const secret = await enroll(owner);
    const confirmation = { code: codesOf(signet, secret)(), end_other_sessions: true };
    assert.equal((await owner.browser.postJson(confirmPath, confirmation)).status, 200);
    assert.equal(await isIn(other), false);
    assert.equal(owner.browser.cookies.get('signet_identity_session'), cookie);
    assert.equal(await isIn(owner), true);
  },
);

testSignet(
  'MF-03: a secret that waits belongs to the session that asked for it',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    const owner = await signet.signedInUser();
    const page = async () => (await owner.browser.get('/account/security/totp')).text.replace(/\s/g, '');
    const cannotConfirm = async (secret: string, why: string) => {
      assert.ok(!(await page()).includes(secret), why);
      const code = totpAt(secret, now(signet.deps));
      assertRefused(await owner.browser.postJson(confirmPath, { code }), 409, 'invalid_state');
      assert.equal(await hasTotp(owner), false, why);
    };

    await t.test('another session neither sees nor confirms it', async () => {
      await cannotConfirm(await enroll(await owner.signedInElsewhere()), 'planted from another session');
    });

    await t.test(
      'it ends when the others are signed out, and when the password changes, also for a copied cookie',
      async () => {
        const first = await enroll(owner.withCopiedCookies());
        assert.ok((await page()).includes(first));
        await owner.browser.delete('/v1/me/sessions');
        await cannotConfirm(first, 'planted before the others were signed out');
        const second = await enroll(owner.withCopiedCookies());
        await changePassword(owner);
        await cannotConfirm(second, 'planted before the password changed');
      },
    );

    await t.test('and when the password is reset, or the account disabled', async () => {
      const waiting = async () =>
        plain(signet.deps.db).get(
          'select 1 as one from totp where user_id = $1 and pending_secret_sealed is not null',
          [owner.user_id],
        );
      await enroll(owner);
      assert.ok(await waiting());
      await signet.newBrowser().post('/reset', { email: owner.email });
      const path = linkIn(await mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\/./);
      assert.equal((await owner.browser.post(path, { password: owner.password })).status, 303);
      assert.equal(await waiting(), undefined);
      await enroll(owner);
      await disableUser(signet.deps, { actor: 'cli' }, owner.user_id);
      assert.equal(await waiting(), undefined);
    });
  },
);

type UnderWay = { signet: Signet; thief: TestUser; email: string };
/** What a request that has read a living session is about to write. */
const changes: Record<string, { sql: RegExp; begin: (at: UnderWay) => Promise<() => Promise<Answer>> }> = {
  'a passkey': {
    sql: /insert into passkeys/,
    async begin({ signet, thief }) {
      const made = newAuthenticator(signet.url).create(await passkeyOptions(thief.browser, '/v1/me/passkeys'));
      return () => postPasskey(thief.browser, made);
    },
  },
  'the end of a passkey': {
    sql: /delete from passkeys/,
    async begin({ thief }) {
      const [passkey] = await passkeysOf(thief);
      return () => thief.browser.delete(`/v1/me/passkeys/${passkey?.id}`);
    },
  },
  'a secret for TOTP': {
    sql: /insert into totp/,
    begin:
      async ({ thief }) =>
      async () =>
        thief.browser.postEmpty(enrollPath),
  },
  'another address': {
    sql: /insert into one_time_links/,
    begin:
      async ({ thief, email }) =>
      async () =>
        thief.browser.postJson('/v1/me/email', { email }),
  },
  'the end of the account': {
    sql: /delete from users|deleted_at = /, // in a store of cells, the account is deleted by a job
    begin:
      async ({ thief }) =>
      async () =>
        thief.browser.delete('/v1/me', { email: thief.email }),
  },
};

testSignet(
  'SS-06: what a stolen cookie had under way fails once the password has changed',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    const { db } = signet.deps;
    for (const [what, { sql, begin }] of Object.entries(changes)) {
      await t.test(what, async () => {
        const owner = await signet.signedInUser();
        await owner.addPasskey();
        const thief = owner.withCopiedCookies();
        const request = await begin({ signet, thief, email: `thief-${owner.email}` });
        const passkeys = (await owner.browser.get('/v1/me/passkeys')).text;
        const held = holdNextCall(db, sql);
        const answer = request();
        await held.reached;
        await changePassword(owner);
        held.release();
        assertRefused(await answer, 401, 'login_required');
        assert.equal((await owner.browser.get('/v1/me/passkeys')).text, passkeys);
        await signet.deps.mail.deliver();
        assert.ok(!mailbox.mails.some(({ to }) => to.includes(`thief-${owner.email}`)));
      });
    }

    await t.test('turning TOTP off', async () => {
      const owner = await signet.signedInUser();
      await owner.enableTotp();
      const held = holdNextCall(db, /delete from totp/);
      const answer = owner.withCopiedCookies().browser.delete('/v1/me/2fa/totp');
      await held.reached;
      await changePassword(owner);
      held.release();
      assertRefused(await answer, 401, 'login_required');
      assert.equal(await hasTotp(owner), true);
    });

    await t.test('an authorization code', async () => {
      const owner = await signet.signedInUser();
      const client = await signet.registerClient();
      const held = holdNextCall(db, /insert into grants/);
      const answer = owner.withCopiedCookies().browser.get(client.authorizePath());
      await held.reached;
      await changePassword(owner);
      held.release();
      assert.match((await answer).location, /^\/signin\?request=/);
    });

    await t.test('and a code that was written beside the change, unseen by it, buys nothing', async () => {
      const owner = await signet.signedInUser();
      const client = await signet.registerClient();
      const code = await owner.authorize(client);
      await plain(db).run(`update sessions set token_hash = 'another' where user_id = $1`, [owner.user_id]);
      assertRefused(await client.redeem(code), 400, 'invalid_grant');
    });
  },
);

testSignet(
  'SS-06: links to another address and to a reset end with what ends everything',
  { mail: true },
  async ({ signet, mailbox }) => {
    const owner = await signet.signedInUser();
    const askChange = async (email: string) => {
      assert.equal((await owner.browser.postJson('/v1/me/email', { email })).status, 202);
      return linkIn(await mailbox.next(email), /^\/verify-email\//);
    };
    const requestPasswordReset = async () => {
      await signet.newBrowser().post('/reset', { email: owner.email });
      return linkIn(await mailbox.next(owner.email, sentence('mail.reset.subject')), /^\/reset\/./);
    };
    const first = await askChange('first@thief.example');
    await changePassword(owner);
    assert.equal((await owner.browser.post(first)).status, 400, 'after a change of the password');

    const second = await askChange('second@thief.example');
    assert.equal((await owner.browser.post(await requestPasswordReset(), { password: owner.password })).status, 303);
    assert.equal((await owner.browser.post(second)).status, 400, 'after a reset');

    const third = await askChange('third@thief.example');
    const reset = await requestPasswordReset();
    await disableUser(signet.deps, { actor: 'cli' }, owner.user_id);
    await enableUser(signet.deps, { actor: 'cli' }, owner.user_id);
    await owner.signIn();
    assert.equal((await owner.browser.post(third)).status, 400, 'after the account was disabled');
    assert.equal((await owner.browser.get(reset)).status, 400);
    assert.equal((await owner.browser.get('/v1/me')).json?.email, owner.email);
  },
);

test('SS-06: another address is accepted after a recent sign-in only', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const owner = await signet.signedInUser();
  await owner.browser.postJson('/v1/me/email', { email: 'fresh@example.com' });
  const path = linkIn(await mailbox.next('fresh@example.com'), /^\/verify-email\//);
  signet.clock.advance(901);
  assert.equal((await owner.browser.get(path)).location, `/signin/confirm?${new URLSearchParams({ next: path })}`);
  assert.match((await owner.browser.post(path)).location, /^\/signin\/confirm\?/);
  assert.equal((await owner.browser.get('/v1/me')).json?.email, owner.email);
  const fields = { username: owner.email, password: owner.password, next: path };
  assert.equal((await owner.browser.post('/signin/confirm', fields)).location, path);
  assert.equal((await owner.browser.post(path)).location, '/account/email?done=changed');
});

test('MF-05: on PostgreSQL no sign-in slips past the second factor that is being turned on', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', mail: true });
  const owner = await signet.signedInUser();
  const { deps } = await startSignet(t, { engine: 'postgres', beside: signet });
  const secret = await enroll(owner);
  // A sign-in by a provider has no proof that locks its user. It is held between its session and its end.
  const devices = await openTransaction(t, deps, { sql: 'lock table known_devices in share row exclusive mode' });
  const visit = { previous: undefined, request_id: undefined, next: undefined, deviceToken: 'dv_x' };
  const proof = { user_id: owner.user_id, methods: ['fed' as const], secondStep: false };
  const entering = completeSignIn(deps, proof, {
    ...visit,
    ...{ address: '127.0.0.1', userAgent: undefined, trustedBrowsers: undefined, asksSecondFactor: false },
  });
  await devices.untilBlocked([entering]);
  const confirmation = { code: totpAt(secret, now(signet.deps)), end_other_sessions: true };
  const confirming = owner.browser.postJson(confirmPath, confirmation);
  await devices.untilBlocked([entering, confirming]);
  await devices.commit();
  assert.equal((await confirming).status, 200);
  await entering;
  const live = await plain(signet.deps.db).all('select acr from sessions where user_id = $1 and ended_at is null', [
    owner.user_id,
  ]);
  assert.deepEqual(live, [{ acr: 'urn:signet:acr:2fa' }], 'only the session that turned it on is active');
});

testSignet(
  'SS-05: a user has a hundred sessions and known browsers at most',
  { mail: true },
  async ({ signet, mailbox }) => {
    const owner = await signet.signedInUser();
    const { db } = signet.deps;
    const before = now(signet.deps) - 3600;
    await plain(db).batch(
      Array.from({ length: 120 }, (_, place) => [
        {
          sql: `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at,
                idle_expires_at, expires_at) values ($1, $1, $2, $3, $3, 'pwd', 'x', $3, $4, $4)`,
          params: [`ses_${place}`, owner.user_id, before + place, before + 86_400],
        },
        {
          sql: 'insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at) values ($1, $2, $3, $3)',
          params: [owner.user_id, `device ${place}`, before + place],
        },
      ]).flat(),
    );
    const newest = await owner.signedInElsewhere();
    assert.equal(await isIn(newest), true);
    assert.equal(await isIn(owner), true, 'the one that was used last');
    const { sessions } = (await newest.browser.get('/v1/me/sessions')).json as { sessions: unknown[] };
    assert.equal(sessions.length, 100);
    const left = await plain(db).all<{ session_id: string }>(
      `select session_id from sessions where end_reason = 'surplus' order by last_seen_at`,
    );
    assert.deepEqual([left.length, left[0]?.session_id, left.at(-1)?.session_id], [22, 'ses_0', 'ses_21']);
    const devices = async () => (await plain(db).get<{ n: number }>('select count(*) as n from known_devices'))?.n;
    assert.equal(await devices(), 100);

    for (let place = 0; place < 8; place += 1) await owner.signedInElsewhere();
    await newest.signIn();
    await signet.runJobs();
    assert.equal(await devices(), 100);
    const mails = () => mailbox.mails.filter(({ subject }) => sentence('mail.new_device.subject').test(subject)).length;
    assert.equal(mails(), 5, 'and hears of five new ones an hour');
    signet.clock.advance(3601);
    await owner.signedInElsewhere();
    await mailbox.next(owner.email, sentence('mail.new_device.subject'));
  },
);

test('FL-01: a sign-in keeps no longer way on than it would follow', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const owner = await signet.signedInUser();
  await owner.enableTotp();
  for (const next of [`/${'a'.repeat(60_000)}`, `/account?x=${'é'.repeat(1000)}`, 'https://evil.example/']) {
    assert.equal((await owner.elsewhere().signIn({ next })).status, 303);
  }
  await owner.elsewhere().signIn({ next: '/account/apps?x=1#y' });
  const kept = await plain(signet.deps.db).all<{ next: string | null }>('select next from sign_in_attempts');
  assert.deepEqual(kept.map(({ next }) => next ?? '').toSorted(), ['', '', '', '/account/apps?x=1#y']);
});
