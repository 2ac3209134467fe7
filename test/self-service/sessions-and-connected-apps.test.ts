import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approveClient } from '../../src/clients/review-client.ts';
import { openMailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, RegisteredClient, redirectedTo } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const day = 86_400;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

type ListedSession = {
  session_id: string;
  name: string | null;
  current: boolean;
  device: string | null;
  address: string;
  amr: string[];
};
type ListedGrant = {
  client_id: string;
  name: string;
  scope: string[];
  claims: string[];
  since: number;
  last_used_at: number | null;
};

const sessionsOf = async ({ browser }: TestUser): Promise<ListedSession[]> =>
  (await browser.get('/v1/me/sessions')).json?.sessions as ListedSession[];
const grantsOf = async ({ browser }: TestUser): Promise<ListedGrant[]> =>
  (await browser.get('/v1/me/grants')).json?.grants as ListedGrant[];

/** That nothing which came from the grant of these tokens works any more, on any of the nodes. */
async function assertDead(
  nodes: readonly Signet[],
  client: RegisteredClient,
  tokens: { access_token: string; refresh_token: string },
) {
  for (const node of nodes) {
    assertRefused(await node.userinfo(tokens.access_token), 401, 'invalid_token');
    assert.deepEqual((await client.at(node).introspect(tokens.access_token)).json, { active: false });
    assert.deepEqual((await client.at(node).introspect(tokens.refresh_token)).json, { active: false });
    assertRefused(await client.at(node).refresh(tokens.refresh_token), 400, 'invalid_grant');
  }
}

testSignet('a user looks after their sessions and applications', async ({ signet, t }) => {
  const client = await signet.registerClient({ name: 'Field Notes' });

  await t.test('SS-05: the list has the active sessions, last used first, and marks the current one', async () => {
    const desk = await signet.newUser();
    await desk.signedInElsewhere({
      'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1) AppleWebKit/605 Safari/604.1',
    });
    signet.clock.advance(3600);
    await desk.signedInElsewhere({ 'user-agent': '<script>alert(1)</script>' });
    signet.clock.advance(60);
    await desk.signIn();
    const sessions = await sessionsOf(desk);
    assert.deepEqual(
      sessions.map(({ current, device }) => ({ current, device })),
      [
        { current: true, device: null },
        { current: false, device: null },
        { current: false, device: 'Safari, iPhone' },
      ],
    );
    assert.deepEqual(sessions[0]?.amr, ['pwd']);
    const { text } = await desk.browser.get('/account/sessions');
    assert.doesNotMatch(text, /<script(?! src="\/assets\/)|alert\(1\)/);
    assert.match(text, /Safari, iPhone/);

    signet.clock.advance(3 * day - 3600); // the first one has been idle for three days now
    await desk.browser.get('/account/sessions');
    assert.equal((await sessionsOf(desk)).length, 2);
  });

  await t.test(
    'SS-05: ending one session ends it and its grants at once, on every node, and nothing else',
    async (t) => {
      const beside = await startSignet(t, { beside: signet });
      const here = await signet.signedInUser();
      const there = await here.signedInElsewhere();
      const lost = await there.obtainTokens(client);
      const kept = await here.obtainTokens(client);
      const waitingCode = await there.authorize(client);
      const other = (await sessionsOf(here)).find(({ current }) => !current)!;
      assert.equal((await here.browser.delete(`/v1/me/sessions/${other.session_id}`)).status, 204);
      assertRefused(await there.browser.get('/v1/me'), 401, 'login_required');
      await assertDead([signet, beside], client, lost);
      assertRefused(await client.redeem(waitingCode), 400, 'invalid_grant');
      assert.equal((await beside.userinfo(kept.access_token)).status, 200);
      assert.equal((await client.at(beside).refresh(kept.refresh_token)).status, 200);
      assert.equal((await sessionsOf(here)).length, 1);
      const [ended] = await signet.auditLog({ target: other.session_id, action: 'session.ended' });
      assert.equal(ended?.actor, `user:${here.user_id}`);
      assertRefused(await here.browser.delete(`/v1/me/sessions/${other.session_id}`), 404, 'not_found');
    },
  );

  await t.test('SS-05: of twenty requests to end the same session one does, and one event says so', async () => {
    const here = await signet.signedInUser();
    await here.signedInElsewhere();
    const { session_id } = (await sessionsOf(here)).find(({ current }) => !current)!;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => here.browser.delete(`/v1/me/sessions/${session_id}`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, ...Array(19).fill(404)]);
    assert.equal((await signet.auditLog({ target: session_id, action: 'session.ended' })).length, 1);
  });

  await t.test('SS-05: a session may end itself, and its cookie goes with it', async () => {
    const user = await signet.signedInUser();
    const [session] = await sessionsOf(user);
    assert.equal((await user.browser.delete(`/v1/me/sessions/${session?.session_id}`)).status, 204);
    assert.ok(!user.browser.cookies.has('signet_identity_session'));
  });

  await t.test(
    'RT-06: "sign out everywhere else" ends every other session and every grant not of this one',
    async (t) => {
      const beside = await startSignet(t, { beside: signet });
      const user = await signet.newUser();
      const old = await user.signedInElsewhere();
      const outlived = await old.obtainTokens(client);
      signet.clock.advance(14 * day); // that session is over, its grant is not
      const phone = await user.signedInElsewhere();
      const lost = await phone.obtainTokens(client);
      await user.signIn();
      const kept = await user.obtainTokens(client);
      const answer = await user.browser.delete('/v1/me/sessions');
      assert.deepEqual([answer.status, answer.json], [200, { ended: 1 }]);
      await assertDead([signet, beside], client, lost);
      assertRefused(await client.at(beside).refresh(outlived.refresh_token), 400, 'invalid_grant');
      assertRefused(await phone.browser.get('/v1/me'), 401, 'login_required');
      assert.equal((await client.at(beside).refresh(kept.refresh_token)).status, 200);
      assert.deepEqual(
        (await sessionsOf(user)).map(({ current }) => current),
        [true],
      );
      assert.deepEqual((await user.browser.delete('/v1/me/sessions')).json, { ended: 0 });
      const endings = await signet.auditLog({ target: user.user_id, action: 'session.ended_others' });
      assert.equal(endings.length, 1, 'the second time there was nothing to end');
    },
  );

  await t.test('RT-06: "sign out everywhere else" also ends a sign-in that waits for its second factor', async () => {
    const user = await signet.signedInUser();
    await user.enableTotp();
    const thief = signet.newBrowser();
    await thief.post('/signin', { username: user.email, password: user.password });
    assert.equal((await thief.get('/signin/second-factor')).status, 200);
    await user.browser.delete('/v1/me/sessions');
    assert.equal((await thief.get('/signin/second-factor')).status, 303);
  });

  await t.test('SS-05: the page does the same with forms, and says what it did', async () => {
    const here = await signet.signedInUser();
    const [one, other] = [await here.signedInElsewhere(), await here.signedInElsewhere()];
    const { session_id } = (await sessionsOf(one)).find(({ current }) => current)!;
    const ended = await here.browser.post('/account/sessions/end', { session_id });
    assert.deepEqual([ended.status, ended.location], [303, '/account/sessions?done=one']);
    assertRefused(await one.browser.get('/v1/me'), 401, 'login_required');
    assert.match((await here.browser.get('/account/sessions?done=one')).text, /role="status"/);
    const all = await here.browser.post('/account/sessions/end-others');
    assert.equal(all.location, '/account/sessions?done=others');
    assertRefused(await other.browser.get('/v1/me'), 401, 'login_required');
    assert.doesNotMatch((await here.browser.get('/account/sessions')).text, /end-others/); // nothing is left to end
  });

  await t.test('a user names a session, for themselves alone, and the name stays as long as the session', async () => {
    const desk = await signet.signedInUser();
    const phone = await desk.signedInElsewhere({
      'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1) AppleWebKit/605 Safari/604.1',
    });
    const { session_id } = (await sessionsOf(desk)).find(({ current }) => !current)!;
    const nameOf = async () => (await sessionsOf(desk)).find((one) => one.session_id === session_id)?.name;
    assert.equal(await nameOf(), null);
    const path = `/v1/me/sessions/${session_id}`;
    assert.equal((await desk.browser.patch(path, { name: '  Mum’s phone ' })).status, 204);
    assert.equal(await nameOf(), 'Mum’s phone');
    const { text } = await desk.browser.get('/account/sessions');
    assert.match(text, /<h2[^>]*><bdi>Mum’s phone<\/bdi>/);
    assert.match(text, /<p>Safari, iPhone<\/p>/, 'a name does not hide what the browser is');

    const admin = await signet.signedInUser({ role: 'admin' });
    const seen = [`/v1/admin/users/${desk.user_id}/sessions`, `/admin/users/${desk.user_id}`].map((address) =>
      admin.browser.get(address),
    );
    for (const answer of await Promise.all(seen)) {
      assert.equal(answer.status, 200);
      assert.match(answer.text, /Safari, iPhone/);
      assert.doesNotMatch(answer.text, /Mum’s phone/);
    }
    const exported = await admin.browser.postJson(`/v1/admin/users/${desk.user_id}/export`, { reason: 'Asked for.' });
    assert.match(exported.text, /Mum’s phone/, 'the copy of the data is whole');
    assert.match(text, /an export of your data, which administrators can make, contains it/);

    await phone.signIn(); // the same session under a new secret
    assert.equal(await nameOf(), 'Mum’s phone');
    const named = await desk.browser.post('/account/sessions/name', { session_id, name: '<b>Tablet</b>' });
    assert.deepEqual([named.status, named.location], [303, '/account/sessions?done=named']);
    assert.match((await desk.browser.get('/account/sessions')).text, /<bdi>&lt;b&gt;Tablet&lt;\/b&gt;<\/bdi>/);
    await desk.browser.post('/account/sessions/name', { session_id, name: ' ' });
    assert.equal(await nameOf(), null);
  });

  await t.test('a name that cannot be read is refused, and so is one for a session of somebody else', async () => {
    const user = await signet.signedInUser();
    const [{ session_id } = assert.fail()] = await sessionsOf(user);
    const path = `/v1/me/sessions/${session_id}`;
    for (const name of ['', '   ', 'x'.repeat(101), 'a\u202eb', 'a\nb', '\u200b', 7, undefined]) {
      const answer = await user.browser.patch(path, { name });
      assertRefused(answer, 400, 'invalid_request');
    }
    const typed = 'a\u202eb';
    const redrawn = await user.browser.post('/account/sessions/name', { session_id, name: typed });
    assert.equal(redrawn.status, 400);
    assert.match(redrawn.text, sentence('problem.name'));
    assert.match(redrawn.text, new RegExp(`value="${typed}"[^>]* aria-invalid="true"`));
    assert.equal((await sessionsOf(user))[0]?.name, null);

    const attacker = await signet.signedInUser();
    for (const id of [session_id, 'ses_unknown'])
      assertRefused(await attacker.browser.patch(`/v1/me/sessions/${id}`, { name: 'Mine' }), 404, 'not_found');
    assert.equal((await attacker.browser.post('/account/sessions/name', { session_id, name: 'Mine' })).status, 404);
    await user.browser.post('/signout');
    await user.signIn();
    assertRefused(await user.browser.patch(path, { name: 'Over' }), 404, 'not_found');
    assert.equal((await sessionsOf(user))[0]?.name, null);
  });

  await t.test('CO-01: a user sees what each application may, since when, and when it was last used', async () => {
    const user = await signet.signedInUser();
    assert.deepEqual(await grantsOf(user), []);
    const since = Math.floor(signet.clock() / 1000);
    const { refresh_token } = await user.obtainTokens(client, { scope: 'openid offline_access' });
    signet.clock.advance(600);
    await user.obtainTokens(client, { scope: 'openid email' });
    signet.clock.advance(600);
    await client.refresh(refresh_token);
    assert.deepEqual(await grantsOf(user), [
      {
        client_id: client.client_id,
        name: 'Field Notes',
        homepage_url: null,
        logo_url: null,
        scope: ['openid', 'email', 'offline_access'],
        claims: [],
        since,
        last_used_at: since + 1200,
      },
    ]);
    assert.match((await user.browser.get('/account/apps')).text, /<bdi>Field Notes<\/bdi>/);
    signet.clock.advance(91 * day); // both grants have come to their end
    await user.signIn();
    assert.deepEqual(await grantsOf(user), []);
  });

  await t.test('CO-01, RT-06: disconnecting ends what the client has, and the next time it asks again', async (t) => {
    const beside = await startSignet(t, { beside: signet });
    const asking = await signet.registerClient({ name: 'Asks first', consent: 'required' });
    const user = await signet.signedInUser();
    const other = await signet.signedInUser();
    const allow = async (someone: TestUser) => {
      const { searchParams } = new URL((await someone.browser.get(asking.authorizePath())).location, signet.url);
      const request = searchParams.get('request') ?? '';
      await someone.browser.post('/consent', { request, user: someone.user_id, decision: 'allow' });
    };
    await allow(user);
    await allow(other);
    const tokens = await user.obtainTokens(asking);
    const elsewhere = await (await user.signedInElsewhere()).obtainTokens(asking);
    const waitingCode = await user.authorize(asking);
    const kept = await other.obtainTokens(asking);
    const unrelated = await user.obtainTokens(client);

    assert.equal((await user.browser.delete(`/v1/me/grants/${asking.client_id}`)).status, 204);
    await assertDead([signet, beside], asking, tokens);
    await assertDead([beside], asking, elsewhere);
    assertRefused(await asking.redeem(waitingCode), 400, 'invalid_grant');
    assert.equal(redirectedTo(await user.browser.get(asking.authorizePath())).base.endsWith('/consent'), true);
    assert.deepEqual(
      (await grantsOf(user)).map(({ client_id }) => client_id),
      [client.client_id],
    );
    assert.equal((await asking.refresh(kept.refresh_token)).status, 200); // that of another user stays
    assert.equal((await client.refresh(unrelated.refresh_token)).status, 200);
    const events = await signet.auditLog({ target: asking.client_id, action: 'app.disconnected' });
    assert.deepEqual(
      events.map(({ actor }) => actor),
      [`user:${user.user_id}`],
    );
    assertRefused(await user.browser.delete(`/v1/me/grants/${asking.client_id}`), 404, 'not_found');
  });

  await t.test('CO-01: a consent without tokens is listed, and forgotten with the form', async () => {
    const asking = await signet.registerClient({ name: 'Asks first', consent: 'required' });
    const user = await signet.signedInUser();
    const { searchParams } = new URL((await user.browser.get(asking.authorizePath())).location, signet.url);
    const request = searchParams.get('request') ?? '';
    await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
    const [listed] = await grantsOf(user);
    assert.deepEqual([listed?.client_id, listed?.last_used_at], [asking.client_id, null]);
    const answer = await user.browser.post('/account/apps/disconnect', { client_id: asking.client_id });
    assert.deepEqual([answer.status, answer.location], [303, '/account/apps?done=yes']);
    assert.deepEqual(await grantsOf(user), []);
  });

  await t.test('ID-01: an id of another user is answered like one that does not exist', async () => {
    const victim = await signet.signedInUser();
    await victim.obtainTokens(client);
    const attacker = await signet.signedInUser();
    const [session] = await sessionsOf(victim);
    const probes: [string, string][] = [
      [`/v1/me/sessions/${session?.session_id}`, '/v1/me/sessions/ses_unknown'],
      [`/v1/me/grants/${client.client_id}`, '/v1/me/grants/cl_unknown'],
    ];
    for (const [theirs, unknown] of probes) {
      const [one, other] = [await attacker.browser.delete(theirs), await attacker.browser.delete(unknown)];
      assertRefused(one, 404, 'not_found');
      assert.equal(one.text, other.text);
    }
    const forms: [string, Record<string, string>][] = [
      ['/account/sessions/end', { session_id: session?.session_id ?? '' }],
      ['/account/apps/disconnect', { client_id: client.client_id }],
    ];
    for (const [path, fields] of forms) {
      assert.equal((await attacker.browser.post(path, fields)).status, 404);
      assert.equal((await attacker.browser.post(path, {})).status, 404);
    }
    assert.equal((await sessionsOf(victim)).length, 1);
    assert.equal((await grantsOf(victim)).length, 1);
    const strange = ['%00', '..%2f..', "ses_'%20or%201=1--", 'x'.repeat(190), '%F0%9F%98%80'];
    for (const id of strange) {
      for (const list of ['sessions', 'grants']) {
        const { status } = await attacker.browser.delete(`/v1/me/${list}/${id}`);
        assert.ok(status === 404 || status === 400, `${id}: ${status}`);
      }
    }
  });
});

test('ID-01: without a session these addresses are 401 for programs and the sign-in page for people', async (t) => {
  const signet = await startSignet(t);
  const signedOut = signet.newBrowser();
  for (const path of ['/v1/me', '/v1/me/sessions', '/v1/me/grants', '/v1/me/entitlements']) {
    assertRefused(await signedOut.get(path), 401, 'login_required');
  }
  for (const path of ['/v1/me/sessions', '/v1/me/sessions/ses_x', '/v1/me/grants/cl_x']) {
    assertRefused(await signedOut.delete(path), 401, 'login_required');
  }
  for (const path of ['', '/security', '/sessions', '/apps', '/entitlements']) {
    const answer = await signedOut.get(`/account${path}`);
    assert.equal(answer.status, 303);
    const next = encodeURIComponent(`/account${path}`);
    assert.equal(answer.location, `/signin?next=${next}`);
  }
  const posted = await signedOut.post('/account/sessions/end-others');
  assert.equal(posted.location, '/signin?next=%2Faccount%2Fsessions%3Funfinished%3D1');
});

test('SS-04: other sites cannot end a session, disconnect an application or change a profile', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  await user.signedInElsewhere();
  await user.obtainTokens(client);
  const { session_id } = (await sessionsOf(user)).find(({ current }) => !current)!;
  const writes: [string, string, string?][] = [
    ['POST', '/account', 'name=Mallory&locale='],
    ['POST', '/account/sessions/name', `session_id=${session_id}&name=Mine`],
    ['POST', '/account/sessions/end', `session_id=${session_id}`],
    ['POST', '/account/sessions/end-others', ''],
    ['POST', '/account/apps/disconnect', `client_id=${client.client_id}`],
    ['DELETE', '/v1/me/sessions'],
    ['DELETE', `/v1/me/sessions/${session_id}`],
    ['DELETE', `/v1/me/grants/${client.client_id}`],
  ];
  const before = (await user.browser.get('/v1/me')).json;
  const foreign: Record<string, string>[] = [{ origin: 'https://evil.test' }, { 'sec-fetch-site': 'cross-site' }];
  for (const [method, path, body] of writes) {
    for (const origin of foreign) {
      const headers = { ...(body === undefined ? {} : form), ...origin, accept: 'application/json' };
      assertRefused(await user.browser.send(path, { method, body, headers }), 403, 'access_denied');
    }
  }
  assert.deepEqual((await user.browser.get('/v1/me')).json, before);
  assert.equal((await sessionsOf(user)).length, 2);
  assert.equal((await grantsOf(user)).length, 1);
});

test('the user gets one mail about an application that was disconnected', async (t) => {
  const mailbox = await openMailbox(t);
  const signet = await startSignet(t, { env: { SIGNET_SMTP_URL: mailbox.url } });
  const client = await signet.registerClient({ name: 'Field Notes' });
  const user = await signet.signedInUser();
  await user.obtainTokens(client);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => user.browser.delete(`/v1/me/grants/${client.client_id}`)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404, 404, 404, 404]);
  const mail = await mailbox.next(user.email, sentence('mail.app_disconnected.subject'));
  assert.match(mail.subject, sentence('mail.app_disconnected.subject', { app: 'Field Notes' }));
  await signet.deps.mail.deliver();
  assert.equal(
    mailbox.mails.filter(({ subject }) => sentence('mail.app_disconnected.subject').test(subject)).length,
    1,
  );
});

test('CL-03: what a client calls itself is shown as text, and nothing of it is linked or loaded', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const names = [
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    '</bdi></h2><form action=//evil.test>',
    '{email} {{7*7}} #{7*7}',
    'שלום Signet',
    'x'.repeat(100),
  ];
  for (const name of names) {
    const owner = await signet.signedInUser(); // each may register five in an hour
    const { json } = await owner.browser.postJson('/v1/oauth/clients', {
      name,
      client_type: 'confidential',
      redirect_uris: ['https://rp.test/cb'],
      homepage_url: 'https://evil.test/a?b=c',
      logo_url: 'https://evil.test/logo.svg',
    });
    const registration = json as { client_id: string; client_secret: string };
    const client = new RegisteredClient(signet, { ...registration, redirect_uri: 'https://rp.test/cb' });
    const review = { client_id: client.client_id, caller: { actor: 'cli' } } as const;
    await approveClient(signet.deps, review, { revision: 1, consent: 'required' });
    const waiting = await user.browser.get(client.authorizePath({ scope: 'openid' }));
    const location = waiting.location;
    const consent = await user.browser.get(location);
    await user.browser.post('/consent', {
      request: new URL(location, signet.url).searchParams.get('request') ?? '',
      user: user.user_id,
      decision: 'allow',
    });
    const apps = await user.browser.get('/account/apps');
    for (const { text } of [consent, apps]) assertHarmless(text, name);
    assert.match(apps.text, /<code>evil\.test<\/code>/);
    await user.browser.delete(`/v1/me/grants/${client.client_id}`);
  }
});

function assertHarmless(page: string, name: string) {
  const escaped = name.replace(
    /[&<>"']/g,
    (sign) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }[sign]};`,
  );
  assert.ok(page.includes(`<bdi>${escaped}</bdi>`), name);
  const tags = [...page.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
  for (const tag of tags) assert.doesNotMatch(tag, /evil|alert|^<script(?! src="\/assets\/)|style=/, tag);
  for (const [, address = ''] of tags.join().matchAll(/(?:src|href|action)="([^"]*)"/g)) {
    assert.match(address, /^([?#]|\/(?!\/))/);
  }
}
