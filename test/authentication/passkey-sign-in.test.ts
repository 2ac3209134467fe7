import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disableUser } from '../../src/admin/users/administer-user.ts';
import { type Lies, newAuthenticator } from '../support/authenticator.ts';
import { withoutFormIds } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import {
  assertNotSignedIn,
  assertSignedIn,
  pages,
  passkeyOptions,
  passkeysOf,
  postAssertion,
  sessionOf,
  signInWithPasskey,
  twenty,
} from '../support/passkeys.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, redirectedTo } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';

testSignet('sign-in by passkey', { env: { SIGNET_RATE_LIMITS: 'off' }, mail: true }, async ({ signet, mailbox, t }) => {
  for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
    await t.test(`sign in with ${algorithm}: both factors in one, without a password`, async () => {
      const user = await signet.signedInUser();
      const authenticator = newAuthenticator(signet.url, algorithm);
      authenticator.counts = true;
      await user.addPasskey(authenticator, ' Key ring ');
      const { browser, answer } = await signInWithPasskey(signet, authenticator);
      assertSignedIn(answer, browser);
      assert.equal(answer.location, '/account');
      const { amr, acr } = await sessionOf(browser);
      assert.deepEqual([amr, acr], [['hwk', 'mfa'], 'urn:signet:acr:2fa']);
      const [passkey] = await passkeysOf(user);
      assert.equal(passkey?.name, 'Key ring');
      assert.equal(passkey?.last_used_at, Math.floor(signet.clock() / 1000));
      assertSignedIn((await signInWithPasskey(signet, authenticator, {}, browser)).answer, browser);
    });
  }

  await t.test('sign-in: whatever is not what we asked for is refused', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const otherBrowser = await passkeyOptions(signet.newBrowser(), '/signin/passkey');
    const cases: [Lies, number][] = [
      [{ origin: 'https://evil.example' }, 403],
      [{ rpId: 'evil.example' }, 403],
      [{ verified: false }, 403],
      [{ present: false }, 403],
      [{ crossOrigin: true }, 403],
      [{ type: 'webauthn.create' }, 403],
      [{ userHandle: null }, 403],
      [{ userHandle: Buffer.from('usr_somebody_else').toString('base64url') }, 403],
      [{ challenge: otherBrowser.challenge }, 400],
      [{ challenge: (await passkeyOptions(user.browser, '/v1/me/passkeys')).challenge }, 400],
      [{ challenge: (await passkeyOptions(user.browser, '/signin/confirm/passkey')).challenge }, 400],
      [{ challenge: 'AAAA' }, 400],
    ];
    for (const [lies, status] of cases) {
      const { browser, answer } = await signInWithPasskey(signet, authenticator, lies);
      assertNotSignedIn(answer, browser, status, JSON.stringify(lies));
      assert.match(answer.text, /role="alert"/);
      assert.match(answer.text, /id="signin-submit"/); // the page to try again on
    }
    const browser = signet.newBrowser();
    const options = await passkeyOptions(browser, '/signin/passkey');
    const assertion = authenticator.get(options);
    const forged = newAuthenticator(signet.url).get(options);
    for (const [credential, status] of [
      [forged, 403],
      [
        {
          ...forged,
          id: assertion.id,
          rawId: assertion.id,
          response: { ...forged.response, userHandle: assertion.response.userHandle },
        },
        403,
      ],
      [{ ...assertion, rawId: forged.id }, 400],
      [{ ...assertion, type: 'password' }, 400],
    ] as const) {
      assertNotSignedIn(await postAssertion(browser, '/signin/passkey', credential), browser, status);
    }
    const other = signet.newBrowser();
    await passkeyOptions(other, '/signin/passkey');
    assertNotSignedIn(await postAssertion(other, '/signin/passkey', assertion), other, 400, 'from another browser');
    assertSignedIn(await postAssertion(browser, '/signin/passkey', assertion), browser);
  });

  await t.test('sign-in: an assertion is good once, and a challenge for five minutes', async () => {
    const authenticator = await (await signet.signedInUser()).addPasskey();
    const browser = signet.newBrowser();
    const assertion = authenticator.get(await passkeyOptions(browser, '/signin/passkey'));
    assertSignedIn(await postAssertion(browser, '/signin/passkey', assertion), browser);
    browser.cookies.delete('signet_identity_session');
    assertNotSignedIn(await postAssertion(browser, '/signin/passkey', assertion), browser, 400);
    const late = authenticator.get(await passkeyOptions(browser, '/signin/passkey'));
    signet.clock.advance(300);
    assertNotSignedIn(await postAssertion(browser, '/signin/passkey', late), browser, 400);
  });

  await t.test('sign-in: of twenty uses of one assertion, one gives a session', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const browser = signet.newBrowser();
    const assertion = authenticator.get(await passkeyOptions(browser, '/signin/passkey'));
    const before = (await signet.auditLog({ target: user.user_id })).length;
    const answers = await twenty(() => postAssertion(browser, '/signin/passkey', assertion));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array(19).fill(400)]);
    const { db } = signet.deps;
    const sessions = await plain(db).all('select session_id from sessions where user_id = $1', [user.user_id]);
    assert.equal(sessions.length, 2);
    assert.equal((await signet.auditLog({ target: user.user_id })).length, before + 1, 'that the browser is new');
  });

  await t.test('sign-in: a removed passkey and a disabled user answer like an unknown passkey', async () => {
    const user = await signet.signedInUser();
    const [removed, kept] = [await user.addPasskey(), await user.addPasskey()];
    await user.browser.delete(`/v1/me/passkeys/${removed.id}`);
    const { user_id } = await signet.signedInUser();
    await disableUser(signet.deps, { actor: 'cli' }, user.user_id);
    // A browser is told to forget what is unknown here, and would also forget what is only disabled.
    const said = (text: string) =>
      withoutFormIds(text).replaceAll(/<[^>]*(?:data-passkey-signals=|passkey-signals-)[^>]*>(?:<\/\w+>)?\n?/g, '');
    const answers: string[] = [];
    const browser = signet.newBrowser(); // one browser, so that nothing but the reason differs
    for (const authenticator of [removed, kept, newAuthenticator(signet.url)]) {
      const { answer } = await signInWithPasskey(
        signet,
        authenticator,
        { userHandle: Buffer.from(user_id).toString('base64url') },
        browser,
      );
      assertNotSignedIn(answer, browser, 403);
      answers.push(said(answer.text));
    }
    assert.equal(new Set(answers).size, 1);
    const { answer } = await signInWithPasskey(signet, kept, {}, browser);
    assertNotSignedIn(answer, browser, 403);
    assert.equal(said(answer.text), answers[0]);
  });

  await t.test('a signature counter that does not grow is refused, logged and reported by mail', async () => {
    const user = await signet.signedInUser();
    const authenticator = newAuthenticator(signet.url);
    authenticator.counts = true;
    await user.addPasskey(authenticator);
    await mailbox.next(user.email);
    assertSignedIn(
      (await signInWithPasskey(signet, authenticator, { signCount: 10 })).answer,
      (await signInWithPasskey(signet, authenticator, { signCount: 11 })).browser,
    );
    for (const signCount of [11, 5, 0]) {
      const { browser, answer } = await signInWithPasskey(signet, authenticator, { signCount });
      assertNotSignedIn(answer, browser, 403);
      await mailbox.next(user.email, sentence('mail.passkey_copied.subject'));
    }
    assert.equal((await signet.auditLog({ target: user.user_id, action: 'passkey.copy_suspected' })).length, 3);
    const { json } = await user.browser.get('/v1/me/alerts');
    type Alert = {
      alert_id: string;
      kind: string;
      passkey: string;
      uses: { at: number | null; address: string | null }[];
    };
    const alerts = (json as { alerts: Alert[] }).alerts.filter(({ kind }) => kind === 'passkey_copied');
    assert.equal(alerts.length, 3, 'the person is asked about each');
    const [{ alert_id, passkey, uses }] = alerts as [Alert];
    const at = Math.floor(signet.clock() / 1000);
    assert.deepEqual(
      uses.map((use) => [use.at, use.address]),
      [
        [at, null],
        [at, '127.0.0.1'],
      ],
    );
    assert.ok((await user.browser.get(`/account/alerts/${alert_id}`)).text.includes(passkey));
    const { browser, answer } = await signInWithPasskey(signet, authenticator, { signCount: 12 });
    assertSignedIn(answer, browser);
  });

  await t.test('of twenty sign-ins with the same next count, one gets in', async () => {
    const authenticator = newAuthenticator(signet.url);
    await (await signet.signedInUser()).addPasskey(authenticator);
    const answers = await twenty(() => signInWithPasskey(signet, authenticator, { signCount: 7 }));
    assert.deepEqual(answers.map(({ answer }) => answer.status).sort(), [303, ...Array(19).fill(403)]);
  });

  await t.test('the goal of a sign-in survives the passkey, also one that is refused first', async () => {
    const client = await signet.registerClient();
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const browser = signet.newBrowser();
    const request = redirectedTo(await browser.get(client.authorizePath())).get('request') ?? assert.fail();
    const options = await passkeyOptions(browser, '/signin/passkey');
    const refused = await postAssertion(browser, '/signin/passkey', authenticator.get(options, { verified: false }), {
      request,
    });
    assert.ok(refused.text.includes(`name="request" value="${request}"`));
    const answer = await postAssertion(browser, '/signin/passkey', authenticator.get(options), { request });
    assert.equal(answer.location, `/oauth/authorize/continue?request=${request}`);
    const onward = await browser.get(answer.location);
    assert.ok(redirectedTo(onward).get('code'));
    const next = await passkeyOptions(browser, '/signin/passkey');
    const elsewhere = await postAssertion(browser, '/signin/passkey', authenticator.get(next), {
      next: '/account/sessions',
    });
    assert.equal(elsewhere.location, '/account/sessions');
  });

  await t.test('MF-05: with TOTP a passkey is a first factor like any other, and no second beside itself', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    const totp = await user.enableTotp();
    const { browser, answer } = await signInWithPasskey(signet, authenticator);
    assert.equal(answer.location, '/signin/second-factor');
    assertRefused(await browser.get('/v1/me'), 401, 'login_required');
    assert.doesNotMatch((await browser.get('/signin/second-factor')).text, /data-passkey/);
    assertRefused(await browser.postEmpty('/signin/second-factor/passkey/options'), 403, 'access_denied');
    const other = await passkeyOptions(browser, '/signin/passkey');
    assertNotSignedIn(
      await postAssertion(browser, '/signin/second-factor/passkey', authenticator.get(other)),
      browser,
      403,
    );
    assertSignedIn(await browser.post('/signin/second-factor', { code: totp.code() }), browser);
    assert.deepEqual((await sessionOf(browser)).amr, ['hwk', 'mfa', 'otp']);
  });

  await t.test('of twenty uses of one assertion by a user with TOTP, one is asked for a code', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    await user.enableTotp();
    const browser = signet.newBrowser();
    const assertion = authenticator.get(await passkeyOptions(browser, '/signin/passkey'));
    const answers = await twenty(() => postAssertion(browser, '/signin/passkey', assertion));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, ...Array(19).fill(400)]);
  });

  await t.test('as second factor: after a password, only the own passkey, in this very sign-in', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    await user.enableTotp();
    const foreign = await (await signet.signedInUser()).addPasskey();
    const path = '/signin/second-factor/passkey';

    const [browser, elsewhere] = [signet.newBrowser(), signet.newBrowser()];
    assertRefused(await browser.postEmpty(`${path}/options`), 401, 'login_required');
    for (const one of [browser, elsewhere])
      assert.equal((await user.with({ browser: one }).signIn()).location, '/signin/second-factor');
    assert.match((await browser.get('/signin/second-factor')).text, /action="\/signin\/second-factor\/passkey"/);
    const options = await passkeyOptions(browser, path);
    assert.deepEqual(
      (options.allowCredentials as { id: string }[]).map(({ id }) => id),
      [authenticator.credential_id],
    );
    const signInChallenge = await passkeyOptions(browser, '/signin/passkey');
    const otherAttempt = await passkeyOptions(elsewhere, path);
    for (const [credential, status] of [
      [foreign.get(options), 403],
      [authenticator.get(options, { verified: false }), 403],
      [authenticator.get(signInChallenge), 400],
      [authenticator.get(otherAttempt), 400],
    ] as const) {
      assertNotSignedIn(await postAssertion(browser, path, credential), browser, status);
    }
    assertNotSignedIn(
      await postAssertion(elsewhere, '/signin/passkey', authenticator.get(otherAttempt)),
      elsewhere,
      400,
      'a second factor is no first',
    );
    const answers = await twenty(() => postAssertion(elsewhere, path, authenticator.get(otherAttempt)));
    assert.equal(answers.filter(({ status, location }) => status === 303 && location === '/account').length, 1);
    assert.deepEqual((await sessionOf(elsewhere)).amr, ['pwd', 'hwk', 'mfa']);
    assertSignedIn(await postAssertion(browser, path, authenticator.get(options)), browser); // its fifth try
  });

  await t.test('as second factor: five tries, whatever they are made with', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.addPasskey();
    await user.enableTotp();
    const browser = signet.newBrowser();
    await user.with({ browser }).signIn();
    const path = '/signin/second-factor/passkey';
    const options = await passkeyOptions(browser, path);
    for (let tries = 0; tries < 5; tries += 1) {
      assertNotSignedIn(
        await postAssertion(browser, path, authenticator.get(options, { verified: false })),
        browser,
        403,
      );
    }
    const answer = await postAssertion(browser, path, authenticator.get(options));
    assert.equal(answer.location, '/signin?stay=1');
    assertRefused(await browser.get('/v1/me'), 401, 'login_required');
  });

  await t.test('to confirm: the own passkey makes the sign-in recent again', async () => {
    const user = await signet.signedInUser();
    const path = '/signin/confirm/passkey';
    assert.doesNotMatch((await user.browser.get('/signin/confirm')).text, /data-passkey/);
    const authenticator = await user.addPasskey();
    const other = await (await signet.signedInUser()).addPasskey();
    signet.clock.advance(3600);
    assert.match((await user.browser.get(`/signin/confirm?next=${pages}`)).text, /data-passkey="get"/);
    const options = await passkeyOptions(user.browser, path);
    assert.deepEqual(
      (options.allowCredentials as { id: string }[]).map(({ id }) => id),
      [authenticator.credential_id],
    );
    assert.equal((await postAssertion(user.browser, path, other.get(options))).status, 403);
    assert.equal((await user.browser.postEmpty('/v1/me/passkeys/options')).status, 403);
    assertRefused(await signet.newBrowser().postEmpty(`${path}/options`), 401, 'login_required');
    const answer = await postAssertion(user.browser, path, authenticator.get(options), { next: pages });
    assert.equal(answer.location, pages);
    assert.equal((await sessionOf(user.browser)).auth_time, Math.floor(signet.clock() / 1000));
    assert.equal((await user.browser.postEmpty('/v1/me/passkeys/options')).status, 200);
  });
});

testSignet('refused passkeys do not block their address, and are counted in one row', async ({ signet }) => {
  const authenticator = await (await signet.signedInUser()).addPasskey();
  for (let times = 0; times < 35; times += 1)
    assertSignedIn(
      (await signInWithPasskey(signet, authenticator)).answer,
      (await signInWithPasskey(signet, authenticator)).browser,
    );
  const browser = signet.newBrowser();
  let options = await passkeyOptions(browser, '/signin/passkey');
  const refused = async (count: number) => {
    for (let times = 0; times < count; times += 1) {
      const answer = await postAssertion(browser, '/signin/passkey', authenticator.get(options, { verified: false }));
      assertNotSignedIn(answer, browser, 403);
    }
    const rows = await plain(signet.deps.db).all<{ count: number }>(
      `select count from unauthenticated_events where reason = 'passkey_refused'`,
    );
    return rows.map((row) => row.count);
  };
  assert.deepEqual(await refused(30), [30]);
  assert.deepEqual(await refused(10), [40]);
  assertSignedIn(await postAssertion(browser, '/signin/passkey', authenticator.get(options)), browser);
  signet.clock.advance(600);
  browser.cookies.delete('signet_identity_session');
  options = await passkeyOptions(browser, '/signin/passkey');
  assert.deepEqual(await refused(1), [41]);
});

test('whoever has a copy of a passkey fills neither the mailbox of its owner nor the audit log', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const user = await signet.signedInUser();
  const authenticator = newAuthenticator(signet.url);
  authenticator.counts = true;
  await user.addPasskey(authenticator);
  await signInWithPasskey(signet, authenticator, { signCount: 10 });
  for (let times = 0; times < 7; times += 1) {
    const { browser, answer } = await signInWithPasskey(signet, authenticator, { signCount: 1 });
    assertNotSignedIn(answer, browser, 403);
  }
  await signet.runJobs();
  const copied = sentence('mail.passkey_copied.subject');
  assert.equal(signet.mailbox.mails.filter(({ subject }) => copied.test(subject)).length, 5);
  assert.equal((await signet.auditLog({ target: user.user_id, action: 'passkey.copy_suspected' })).length, 5);
});

testSignet('challenges are limited by address, generously', async ({ signet }) => {
  const browser = signet.newBrowser();
  const statuses = new Set<number>();
  for (let times = 0; times < 600; times += 1)
    statuses.add((await browser.postEmpty('/signin/passkey/options')).status);
  assert.deepEqual([...statuses], [200]);
  assertRefused(await browser.postEmpty('/signin/passkey/options'), 429, 'rate_limited');
});
