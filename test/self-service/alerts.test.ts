import assert from 'node:assert/strict';
import { deleteClient } from '../../src/clients/delete-client.ts';
import { findRefusal } from '../../src/platform/mail/refusals.ts';
import { onBothEngines } from '../support/databases.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const day = 86_400;
const env = { SIGNET_TRUST_PROXY: '1' };
const linux = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** The back end of the app, and who has a copy of its token. */
const app = { 'user-agent': 'okhttp/4.12.0', 'x-forwarded-for': '203.0.113.7' };
const thief = { 'user-agent': 'python-requests/2.32.3 (https://example.com)', 'x-forwarded-for': '198.51.100.24' };

type Use = { at: number | null; not_after: number | null; address: string | null; agent: string | null; dpop: boolean };
type Alert = {
  alert_id: string;
  kind: string;
  at: number;
  app: { client_id: string; name: string | null } | null;
  uses: Use[];
  uses_between: number;
  access_tokens_until: number | null;
  answer: string | null;
  answered_at: number | null;
  answered_from: string | null;
};

const now = (signet: Signet) => Math.floor(signet.clock() / 1000);

async function alertsOf({ browser }: TestUser): Promise<Alert[]> {
  const answer = await browser.get('/v1/me/alerts');
  assert.equal(answer.status, 200, answer.text);
  return (answer.json as { alerts: Alert[] }).alerts;
}

const answerOf = ({ browser }: TestUser, { alert_id }: Alert, answer: string) =>
  browser.postJson(`/v1/me/alerts/${alert_id}/answer`, { answer });

/** The app uses its token, and a thief the copy. */
async function stolen(signet: Signet, user: TestUser, client: RegisteredClient): Promise<Alert> {
  const { refresh_token } = tokensOf(await client.redeem(await user.authorize(client), {}, app));
  signet.clock.advance(300);
  tokensOf(await client.refresh(refresh_token, {}, app));
  signet.clock.advance(120);
  assertRefused(await client.refresh(refresh_token, {}, thief), 400, 'invalid_grant');
  return (await alertsOf(user))[0]!;
}

onBothEngines('a person reads both uses of a token that came twice', async (t, engine) => {
  const signet = await startSignet(t, { engine, env, mail: true });
  const client = await signet.registerClient({ name: 'Field Notes' });

  await t.test(
    'SA-01: which came first, from where, by what, what was ended, and until when a token may live',
    async () => {
      const user = await signet.signedInUser();
      const alert = await stolen(signet, user, client);
      const at = now(signet);
      const { alert_id, kind, app: of, uses, uses_between, access_tokens_until, answer } = alert;
      assert.deepEqual(
        { kind, of, uses, uses_between, access_tokens_until, answer },
        {
          kind: 'refresh_token_replayed',
          of: { client_id: client.client_id, name: 'Field Notes' },
          uses: [
            { at: at - 120, not_after: null, address: '203.0.113.7', agent: 'okhttp/4.12.0', dpop: false },
            { at, not_after: null, address: '198.51.100.24', agent: 'python-requests/2.32.3', dpop: false },
          ],
          uses_between: 0,
          access_tokens_until: at + 3600,
          answer: null,
        },
      );
      const page = await user.browser.get(`/account/alerts/${alert_id}`);
      assert.equal(page.status, 200);
      for (const words of ['203.0.113.7', '198.51.100.24', 'okhttp/4.12.0', 'python-requests/2.32.3', 'Field Notes'])
        assert.ok(page.text.includes(words), words);
      const first = page.text.indexOf('203.0.113.7');
      assert.ok(first < page.text.indexOf('198.51.100.24'), 'the first use stands first');
      assert.ok(page.text.includes(message('alert.not_me.password')));

      const mail = await signet.mailbox.next(
        user.email,
        sentence('mail.grant_replayed.subject', { app: 'Field Notes' }),
      );
      assert.ok(mail.text.includes(`${signet.url}/account/alerts/${alert_id}`));
      assert.match(mail.text, /203\.0\.113\.7 · okhttp\/4\.12\.0\n.*198\.51\.100\.24 · python-requests\/2\.32\.3/);
      const [event] = await signet.auditLog({ action: 'security_alert.raised' });
      const { url, uses: logged } = JSON.parse(event?.after_state ?? '{}');
      assert.deepEqual(
        [url, logged, event?.address],
        [`${signet.url}/account/alerts/${alert_id}`, uses, '198.51.100.24'],
      );
      const activity = (await user.browser.get('/v1/me/activity?kind=apps')).json as { events: { alert_id: string }[] };
      assert.equal(activity.events[0]?.alert_id, alert_id);
      assert.ok((await user.browser.get('/account/activity')).text.includes(`href="/account/alerts/${alert_id}"`));
    },
  );

  await t.test('what a program calls itself is no link in the mail', async () => {
    const names = {
      'www.evil.example/secure-your-account': 'www_evil_example/secure-your-account',
      'Reset-here/evil.example/reset': 'Reset-here/evil_example',
      '127.0.0.1/reset': undefined,
      'http://evil.example': 'http',
      'com.example.app/5.0.1 (phone)': 'com_example_app/5.0.1',
    };
    for (const [userAgent, shown] of Object.entries(names)) {
      const user = await signet.signedInUser();
      const { refresh_token } = tokensOf(await client.redeem(await user.authorize(client), {}, app));
      tokensOf(await client.refresh(refresh_token, {}, app));
      signet.clock.advance(120);
      await client.refresh(refresh_token, {}, { ...thief, 'user-agent': userAgent });
      const [alert] = await alertsOf(user);
      assert.equal(alert?.uses[1]?.agent, shown ?? null);
      const { text } = await signet.mailbox.next(
        user.email,
        sentence('mail.grant_replayed.subject', { app: 'Field Notes' }),
      );
      assert.ok(!text.includes('evil.example') && (shown === undefined || text.includes(shown)), userAgent);
    }
  });

  await t.test('a thief who came first, and went on, is told from the app that comes after', async () => {
    const user = await signet.signedInUser();
    const { refresh_token } = tokensOf(await client.redeem(await user.authorize(client), {}, app));
    const begun = now(signet);
    signet.clock.advance(60);
    let { refresh_token: theirs } = tokensOf(await client.refresh(refresh_token, {}, thief));
    for (let times = 0; times < 2; times += 1) {
      signet.clock.advance(60);
      theirs = tokensOf(await client.refresh(theirs, {}, thief)).refresh_token;
    }
    signet.clock.advance(60);
    assertRefused(await client.refresh(refresh_token, {}, app), 400, 'invalid_grant');
    const [alert] = await alertsOf(user);
    // Others of the same party have followed, so of the time it is known how late it was.
    const { address, agent, at, not_after } = alert!.uses[0]!;
    assert.deepEqual([address, agent, at, not_after], ['198.51.100.24', 'python-requests/2.32.3', null, begun + 180]);
    assert.deepEqual([alert?.uses[1]?.address, alert?.uses_between], ['203.0.113.7', 2]);
  });

  await t.test('of more than two parties the older ones are no longer known, and it says so', async () => {
    const user = await signet.signedInUser();
    const first = tokensOf(await client.redeem(await user.authorize(client), {}, app)).refresh_token;
    let token = first;
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      token = tokensOf(await client.refresh(token, {}, { 'x-forwarded-for': address })).refresh_token;
    assertRefused(await client.refresh(first, {}, thief), 400, 'invalid_grant');
    const [alert] = await alertsOf(user);
    assert.deepEqual([alert?.uses[0]?.address, alert?.uses[0]?.agent, alert?.uses[0]?.at], [null, null, null]);
    const page = await user.browser.get(`/account/alerts/${alert!.alert_id}`);
    assert.ok(page.text.includes(message('alert.use.unknown')));
  });

  await t.test('a code that came twice is told with the time of its redemption', async () => {
    const user = await signet.signedInUser();
    const code = await user.authorize(client);
    tokensOf(await client.redeem(code, {}, app));
    const at = now(signet);
    signet.clock.advance(20);
    assertRefused(await client.redeem(code, {}, { ...thief, 'user-agent': linux }), 400, 'invalid_grant');
    const [alert] = await alertsOf(user);
    assert.deepEqual(
      [alert?.kind, alert?.uses.map(({ at, address, agent }) => [at, address, agent])],
      [
        'code_replayed',
        [
          [at, '203.0.113.7', 'okhttp/4.12.0'],
          [at + 20, '198.51.100.24', 'Firefox, Linux'],
        ],
      ],
    );
  });

  await t.test('SA-02: another person, and nobody, reads none of it, and it is over after 90 days', async () => {
    const user = await signet.signedInUser();
    const alert = await stolen(signet, user, client);
    const other = await signet.signedInUser();
    for (const path of [`/v1/me/alerts/${alert.alert_id}`, '/v1/me/alerts/alert_unknown'])
      assertRefused(await other.browser.get(path), 404, 'not_found');
    assertRefused(await answerOf(other, alert, 'not_me'), 404, 'not_found');
    assert.equal((await other.browser.get(`/account/alerts/${alert.alert_id}`)).status, 404);
    const anonymous = await signet.newBrowser().get(`/account/alerts/${alert.alert_id}`);
    assert.deepEqual([anonymous.status, anonymous.location.startsWith('/signin')], [303, true]);
    signet.clock.advance(90 * day + 900);
    await user.signIn();
    assertRefused(await user.browser.get(`/v1/me/alerts/${alert.alert_id}`), 404, 'not_found');
    await signet.runJobs();
    assert.deepEqual(await plain(signet.deps.db).all('select alert_id from security_alerts'), []);
  });

  await t.test('it stays when the app is deleted, without its name', async () => {
    const user = await signet.signedInUser();
    const gone = await signet.registerClient({ name: 'Gone' });
    await stolen(signet, user, gone);
    await deleteClient(signet.deps, { client_id: gone.client_id, caller: { actor: 'cli' } });
    const [alert] = await alertsOf(user);
    assert.deepEqual(alert?.app, { client_id: gone.client_id, name: null });
    const page = await user.browser.get(`/account/alerts/${alert!.alert_id}`);
    assert.ok(page.text.includes(message('activity.app_gone')));
  });
});

onBothEngines('the owner of the app and an administrator read the same, each what they may know', async (t, engine) => {
  const signet = await startSignet(t, { engine, env });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ name: 'Field Notes', owner });
  const user = await signet.signedInUser({ name: 'Ada Lovelace' });
  const alert = await stolen(signet, user, client);
  type Listed = Alert & { sub: string; likely: string };
  const listed = async ({ browser }: TestUser, { client_id } = client as { client_id: string }) => {
    const answer = await browser.get(`/v1/oauth/clients/${client_id}/alerts`);
    assert.equal(answer.status, 200, answer.text);
    return (answer.json as { alerts: Listed[] }).alerts;
  };

  await t.test('SA-02: the owner reads both uses, the sub, and nothing else of the user', async () => {
    const [one] = await listed(owner);
    assert.deepEqual(
      [one?.alert_id, one?.sub, one?.uses, one?.likely],
      [alert.alert_id, user.user_id, alert.uses, 'leaked'],
    );
    const page = await owner.browser.get(`/developer/clients/${client.client_id}/alerts/${alert.alert_id}`);
    assert.equal(page.status, 200);
    for (const words of [user.user_id, '203.0.113.7', '198.51.100.24', message('developer.alert.check.leaked')])
      assert.ok(page.text.includes(words), words);
    for (const words of [user.email, 'Ada Lovelace', 'answered_from']) assert.ok(!page.text.includes(words), words);
    const list = await owner.browser.get(`/developer/clients/${client.client_id}/alerts`);
    assert.ok(list.text.includes(`/alerts/${alert.alert_id}`));
  });

  await t.test('another owner, another client and an unknown alert are not there', async () => {
    const other = await signet.signedInUser();
    const theirs = await signet.registerClient({ name: 'Theirs', owner: other });
    assertRefused(await other.browser.get(`/v1/oauth/clients/${client.client_id}/alerts`), 404, 'not_found');
    assert.deepEqual(await listed(other, theirs), []);
    for (const path of [
      `/developer/clients/${client.client_id}/alerts/${alert.alert_id}`,
      `/developer/clients/${theirs.client_id}/alerts/${alert.alert_id}`,
      `/developer/clients/${theirs.client_id}/alerts/alert_unknown`,
    ])
      assert.equal((await other.browser.get(path)).status, 404, path);
  });

  await t.test('of a client that runs where its user is, the owner reads networks', async () => {
    const page = await signet.registerClient({ owner, client_type: 'public', application_type: 'native' });
    const { refresh_token } = tokensOf(await page.redeem(await user.authorize(page), {}, app));
    tokensOf(await page.refresh(refresh_token, {}, app));
    signet.clock.advance(30);
    const later = { ...app, 'x-forwarded-for': '2001:db8:1:2:3::4' };
    assertRefused(await page.refresh(refresh_token, {}, later), 400, 'invalid_grant');
    const [one] = await listed(owner, page);
    assert.deepEqual(
      [one?.uses.map(({ address }) => address), one?.likely],
      [['203.0.113.0/24', '2001:db8:1::/48'], 'race'],
    );
    assert.deepEqual(
      (await alertsOf(user))[0]?.uses.map(({ address }) => address),
      ['203.0.113.7', '2001:db8:1:2:3::4'],
    );
  });

  await t.test('an administrator reads all, with what the user has said', async () => {
    const admin = await signet.signedInUser({ role: 'admin' });
    assert.equal((await answerOf(user, alert, 'me')).status, 204);
    const path = `/users/${user.user_id}/alerts`;
    const { json } = await admin.browser.get(`/v1/admin${path}`);
    const one = (json as { alerts: Alert[] }).alerts.find(({ alert_id }) => alert_id === alert.alert_id);
    assert.deepEqual([one?.uses, one?.answer, one?.answered_from], [alert.uses, 'me', '127.0.0.1']);
    const page = await admin.browser.get(`/admin${path}/${alert.alert_id}`);
    for (const words of ['Ada Lovelace', 'Field Notes', '198.51.100.24', message('alert.me')])
      assert.ok(page.text.includes(words), words);
    assert.ok((await admin.browser.get(`/admin${path}`)).text.includes(`/alerts/${alert.alert_id}`));
    const other = `/users/${owner.user_id}/alerts/${alert.alert_id}`;
    assert.equal((await admin.browser.get(`/admin${other}`)).status, 404);
    assertRefused(await owner.browser.get(`/v1/admin${path}`), 403, 'access_denied');
  });
});

onBothEngines('a person says whether that was them', async (t, engine) => {
  const signet = await startSignet(t, { engine, env: { ...env, SIGNET_TRUSTED_BROWSER_DAYS: '30' }, mail: true });
  const client = await signet.registerClient({ name: 'Field Notes' });

  await t.test('SA-04: "that was me" is noted once, and changes nothing else', async () => {
    const user = await signet.signedInUser();
    const other = await user.signedInElsewhere();
    const alert = await stolen(signet, user, client);
    assert.equal((await answerOf(user, alert, 'me')).status, 204);
    const [noted] = await alertsOf(user);
    assert.deepEqual([noted?.answer, noted?.answered_at, noted?.answered_from], ['me', now(signet), '127.0.0.1']);
    assert.equal((await answerOf(user, alert, 'me')).status, 204);
    assert.equal((await signet.auditLog({ action: 'security_alert.recognized', target: user.user_id })).length, 1);
    assert.equal((await other.browser.get('/v1/me')).status, 200);
    const page = await user.browser.get(`/account/alerts/${alert.alert_id}`);
    assert.ok(!page.text.includes('id="me"') && page.text.includes('id="not-me"'), 'it can still be taken back');
  });

  await t.test('SA-03: "not me" ends all other access, and takes the password away', async () => {
    const user = await signet.signedInUser();
    const other = await user.signedInElsewhere();
    const elsewhere = await other.obtainTokens(client);
    const here = await user.obtainTokens(client);
    const alert = await stolen(signet, user, client);
    assert.equal((await answerOf(user, alert, 'me')).status, 204);
    const before = user.withCopiedCookies();
    assert.equal((await answerOf(user, alert, 'not_me')).status, 204);

    assertRefused(await other.browser.get('/v1/me'), 401, 'login_required');
    assertRefused(await before.browser.get('/v1/me'), 401, 'login_required');
    assert.equal((await user.browser.get('/v1/me')).status, 200);
    for (const { refresh_token, access_token } of [elsewhere, here]) {
      assertRefused(await client.refresh(refresh_token), 400, 'invalid_grant');
      assert.equal((await signet.userinfo(access_token)).status, 401);
    }
    assert.notEqual((await user.elsewhere().signIn()).status, 303, 'who knows the password has nothing');
    const mail = await signet.mailbox.next(user.email, sentence('mail.alert_denied.subject'));
    assert.ok(mail.text.includes(`${signet.url}/reset`));

    assert.equal((await user.browser.postJson('/v1/me/password', { password: 'another long passphrase' })).status, 204);
    assert.equal((await user.elsewhere().with({ password: 'another long passphrase' }).signIn()).status, 303);
    // Said once: neither is there a second mail, nor does "me" take it back.
    assert.equal((await answerOf(user, alert, 'not_me')).status, 204);
    assert.equal((await answerOf(user, alert, 'me')).status, 204);
    const said = (await alertsOf(user)).find(({ alert_id }) => alert_id === alert.alert_id);
    assert.equal(said?.answer, 'not_me');
    assert.equal((await signet.auditLog({ action: 'security_alert.denied', target: user.user_id })).length, 1);
  });

  await t.test('the page does the same by a form, and leads to the new password', async () => {
    const user = await signet.signedInUser();
    const alert = await stolen(signet, user, client);
    const answer = await user.browser.post(`/account/alerts/${alert.alert_id}/not-me`);
    assert.deepEqual([answer.status, answer.location], [303, '/account/security/password?done=not_me']);
    const page = await user.browser.get(answer.location);
    assert.ok(page.text.includes(message('password.done.not_me')));
    const story = await user.browser.get(`/account/alerts/${alert.alert_id}`);
    assert.ok(story.text.includes('id="afterwards"') && !story.text.includes('id="not-me"'));
  });

  await t.test(
    'SA-04: neither is said in a session whose sign-in is old: a stolen cookie cannot take the password away',
    async () => {
      const user = await signet.signedInUser();
      const alert = await stolen(signet, user, client);
      assertRefused(await answerOf(user, alert, 'perhaps'), 400, 'invalid_request');
      signet.clock.advance(901);
      for (const answer of ['me', 'not_me'])
        assertRefused(await answerOf(user, alert, answer), 403, 'reauthentication_required');
      assert.equal((await alertsOf(user))[0]?.answer, null);
    },
  );

  await t.test('an account without a password keeps its other ways to sign in', async () => {
    const user = await signet.signedInUser();
    const alert = await stolen(signet, user, client);
    await plain(signet.deps.db).run('delete from passwords where user_id = $1', [user.user_id]);
    const page = await user.browser.get(`/account/alerts/${alert.alert_id}`);
    assert.ok(!page.text.includes(message('alert.not_me.password')));
    const answer = await user.browser.post(`/account/alerts/${alert.alert_id}/not-me`);
    assert.equal(answer.location, `/account/alerts/${alert.alert_id}`);
    const mail = await signet.mailbox.next(user.email, sentence('mail.alert_denied.subject'));
    assert.ok(!mail.text.includes(`${signet.url}/reset`) && mail.text.includes(`${signet.url}/account/security`));
  });
});

onBothEngines('a person is asked about a browser that is new to the account', async (t, engine) => {
  const signet = await startSignet(t, { engine, env, mail: true });
  const user = await signet.signedInUser();
  assert.deepEqual(await alertsOf(user), [], 'the very first is not asked about');
  signet.clock.advance(60);
  const other = await user.signedInElsewhere({ 'user-agent': linux, 'x-forwarded-for': '198.51.100.24' });
  const [alert] = await alertsOf(user);

  await t.test('what is known of it, in a mail, on a page and beside the sign-in', async () => {
    const { kind, uses, app, access_tokens_until } = alert!;
    const use = { at: now(signet), not_after: null, address: '198.51.100.24', agent: 'Firefox, Linux', dpop: false };
    assert.deepEqual([kind, uses, app, access_tokens_until], ['new_device', [use], null, null]);
    const mail = await signet.mailbox.next(user.email, sentence('mail.new_device.subject'));
    assert.ok(mail.text.includes(`${signet.url}/account/alerts/${alert!.alert_id}`));
    const { json } = await user.browser.get('/v1/me/activity');
    const events = (json as { events: { action: string; alert_id: string | null }[] }).events;
    assert.deepEqual(
      events.slice(0, 2).map(({ action, alert_id }) => [action, alert_id]),
      [
        ['session.started', alert!.alert_id],
        ['session.started', null],
      ],
    );
    assert.equal(events.filter(({ action }) => action === 'security_alert.raised').length, 0, 'told once');
  });

  await t.test('SA-04: the session itself cannot vouch for itself, and "not me" ends it', async () => {
    const page = await other.browser.get(`/account/alerts/${alert!.alert_id}`);
    assert.ok(page.text.includes('id="current"') && !page.text.includes('id="me"'));
    assertRefused(await answerOf(other, alert!, 'me'), 403, 'access_denied');
    assert.equal((await alertsOf(user))[0]?.answer, null);
    assert.equal((await answerOf(user, alert!, 'not_me')).status, 204);
    assertRefused(await other.browser.get('/v1/me'), 401, 'login_required');
  });
});

onBothEngines('what is kept of it is bounded, and no way in', async (t, engine) => {
  const signet = await startSignet(t, { engine, env, mail: true });
  const client = await signet.registerClient();

  await t.test('SA-05: an app that replays its own tokens drives out its own alerts, and no others', async () => {
    const user = await signet.signedInUser();
    const other = await signet.registerClient({ name: 'Other' });
    await stolen(signet, user, other);
    for (let times = 0; times < 23; times += 1) {
      const code = await user.authorize(client);
      tokensOf(await client.redeem(code));
      assertRefused(await client.redeem(code), 400, 'invalid_grant');
    }
    const kept = await alertsOf(user);
    const of = (one: RegisteredClient) => kept.filter(({ app }) => app?.client_id === one.client_id).length;
    assert.deepEqual([of(client), of(other)], [20, 1]);
  });

  await t.test('the row of a grant has of a use no more than 90 characters, and nothing secret', async () => {
    const user = await signet.signedInUser();
    const long = { 'user-agent': `${'x'.repeat(5000)}/1`, 'x-forwarded-for': '2001:db8:1111:2222:3333:4444:5555:6666' };
    const { refresh_token } = tokensOf(await client.redeem(await user.authorize(client), {}, long));
    const [grant] = (await plain(signet.deps.db).all(
      'select used_by from grants where user_id = $1 order by created_at desc limit 1',
      [user.user_id],
    )) as { used_by: string }[];
    assert.equal(grant?.used_by, `- 2001:db8:1111:2222:3333:4444:5555:6666 ${'x'.repeat(40)}`);
    assert.ok(grant.used_by.length <= 90 && !grant.used_by.includes(refresh_token.slice(3, 20)));
  });

  await t.test('SA-05: of many answers five are mailed in an hour', async () => {
    const user = await signet.signedInUser();
    const before = signet.deps.mail.enqueued;
    for (let times = 0; times < 7; times += 1) {
      const alert = await stolen(signet, user, client);
      await user.signIn();
      const asked = signet.deps.mail.enqueued;
      assert.equal((await answerOf(user, alert, 'not_me')).status, 204);
      assert.equal(signet.deps.mail.enqueued - asked, times < 5 ? 1 : 0);
      await user.browser.postJson('/v1/me/password', { password: user.password });
    }
    assert.ok(signet.deps.mail.enqueued > before);
  });

  await t.test('where the address takes no mail the password stays, and the page says nothing of it', async () => {
    const user = await signet.signedInUser();
    signet.mailbox.answers = { command: 'RCPT TO', code: 550, text: '5.1.1 no such user' };
    const alert = await stolen(signet, user, client);
    await until('the refusal is noted', async () => (await findRefusal(signet.deps, user.email)) !== undefined);
    signet.mailbox.answers = undefined;
    const page = await user.browser.get(`/account/alerts/${alert.alert_id}`);
    assert.ok(!page.text.includes(message('alert.not_me.password')));
    assert.equal((await answerOf(user, alert, 'not_me')).status, 204);
    assert.equal((await user.elsewhere().signIn()).status, 303);
  });

  await t.test('without mail the password stays, since no link could replace it', async () => {
    const user = await signet.signedInUser();
    const alert = await stolen(signet, user, client);
    Object.assign(signet.deps.mail, { works: false }); // as off loopback without SIGNET_SMTP_URL
    assert.equal((await answerOf(user, alert, 'not_me')).status, 204);
    assert.equal((await user.elsewhere().signIn()).status, 303);
  });
});
