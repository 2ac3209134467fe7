import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { approveClient } from '../../src/clients/review-client.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const day = 86_400;

type Listed = {
  at: number;
  action: string;
  kind: string;
  by: string;
  count: number;
  address: string | null;
  browser: string | null;
  methods: string[];
  app: { client_id: string; name: string | null } | null;
};
type Page = { events: Listed[]; next: string | null };

async function activityOf({ browser }: TestUser, query = ''): Promise<Page> {
  const answer = await browser.get(`/v1/me/activity${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as Page;
}

const actionsOf = async (user: TestUser, query = ''): Promise<string[]> =>
  (await activityOf(user, query)).events.map(({ action }) => action);

testSignet('a person sees what happened with their account', async ({ signet, t }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ name: 'Field Notes', consent: 'required' });
  const linux = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

  const allow = async ({ browser, user_id }: TestUser, path = client.authorizePath()) => {
    const { searchParams } = new URL((await browser.get(path)).location, signet.url);
    await browser.post('/consent', { request: searchParams.get('request') ?? '', user: user_id, decision: 'allow' });
  };

  await t.test('sign-ins, refused tries, changes and apps are there, each newest first', async () => {
    const user = await signet.signedInUser({});
    signet.clock.advance(60);
    assert.notEqual((await user.elsewhere().with({ password: 'not it' }).signIn()).status, 303);
    assert.notEqual((await user.elsewhere().with({ password: 'nor this' }).signIn()).status, 303);
    signet.clock.advance(60);
    const other = await user.signedInElsewhere({ 'user-agent': linux });
    signet.clock.advance(60);
    await user.browser.patch('/v1/me', { name: 'Ada Lovelace' });
    signet.clock.advance(60);
    await allow(user);
    signet.clock.advance(60);
    await user.browser.delete(`/v1/me/grants/${client.client_id}`);
    signet.clock.advance(60);
    await other.browser.post('/signout');
    signet.clock.advance(60);

    for (const sealed of [false, true]) {
      if (sealed) await signet.deps.auditLog.seal();
      const { events, next } = await activityOf(user);
      assert.equal(next, null);
      assert.deepEqual(
        events.map(({ action, kind, by, count }) => [action, kind, by, count]),
        [
          ['session.ended', 'sign_ins', 'user', 1],
          ['app.disconnected', 'apps', 'user', 1],
          ['consent.given', 'apps', 'user', 1],
          ['user.changed', 'security', 'user', 1],
          ['session.started', 'sign_ins', 'user', 1],
          ['session.refused', 'sign_ins', 'anyone', 2],
          ['session.started', 'sign_ins', 'user', 1],
          ['user.created', 'security', 'administrator', 1],
        ],
        `sealed: ${sealed}`,
      );
      assert.deepEqual(events[1]?.app, { client_id: client.client_id, name: 'Field Notes' });
      assert.equal(events[4]?.browser, 'Firefox, Linux');
      assert.deepEqual(events[4]?.methods, ['pwd']);
      assert.ok(events[5]?.address);
    }
    const { text } = await user.browser.get('/account/activity');
    for (const key of [
      'activity.event.signed_out',
      'mail.app_disconnected.subject',
      'activity.event.app_connected',
      'activity.event.profile',
      'sessions.signed_in',
      'mail.second_factor_refused.subject',
      'activity.event.created',
      'activity.advice',
    ] as const)
      assert.match(text, sentence(key));
    assert.match(text, /Firefox, Linux/);
    assert.match(text, /× 2/);

    // Only the three that the filter asks for, on the page as well.
    assert.deepEqual(await actionsOf(user, '?kind=apps'), ['app.disconnected', 'consent.given']);
    assert.deepEqual(await actionsOf(user, '?kind=security'), ['user.changed', 'user.created']);
    assert.ok((await activityOf(user, '?kind=sign_ins')).events.every(({ kind }) => kind === 'sign_ins'));
    const apps = (await user.browser.get('/account/activity?kind=apps&days=7')).text;
    assert.match(apps, sentence('activity.event.app_connected'));
    assert.doesNotMatch(apps, sentence('activity.event.profile'));
    assert.match(apps, /<option value="apps" selected>/);

    // A page at a time, and each event once.
    const seen: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page: Page = await activityOf(user, `?limit=2&before=${next}`);
      assert.ok(page.events.length <= 2);
      seen.push(...page.events.map(({ action }) => action));
      next = page.next;
    }
    assert.deepEqual(seen, await actionsOf(user));

    const stranger = await signet.signedInUser();
    assert.deepEqual(await actionsOf(stranger), ['session.started', 'user.created']);
  });

  await t.test('what says where a page ends counts nothing that others did', async () => {
    const [user, other] = [await signet.signedInUser(), await signet.signedInUser()];
    for (const one of [user, other]) await one.signIn();
    await runJobs(signet.deps, ['seal the audit log']);
    const nextOf = async (one: TestUser) => String((await activityOf(one, '?limit=1')).next);
    const [next, again, theirs] = [await nextOf(user), await nextOf(user), await nextOf(other)];
    assert.notEqual(next, again, 'of one place, so nothing of it can be read');
    // Nor does its length tell, and what another user was given is none.
    assert.equal(next.length, theirs.length);
    assertRefused(await other.browser.get(`/v1/me/activity?before=${next}`), 400, 'invalid_request');
  });

  await t.test('what administrators did is there without them, and is not in what happened with theirs', async () => {
    const user = await signet.signedInUser();
    signet.clock.advance(60);
    const reason = 'A note that is for colleagues';
    const at = { 'x-forwarded-for': '203.0.113.77' };
    for (const [path, body] of [
      ['reset-factors', { reason }],
      ['disable', { reason }],
      ['enable', {}],
    ] as const) {
      const answer = await administrator.browser.postJson(`/v1/admin/users/${user.user_id}/${path}`, body, at);
      assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
      signet.clock.advance(1);
    }
    await signet.deps.auditLog.seal();
    await user.signIn();
    const { events } = await activityOf(user, '?kind=security');
    assert.deepEqual(
      events.map(({ action, by, address }) => [action, by, address]),
      ['user.enabled', 'user.disabled', 'user.factors_reset', 'user.created'].map((one) => [
        one,
        'administrator',
        null,
      ]),
    );
    const page = await user.browser.get('/account/activity');
    const json = await user.browser.get('/v1/me/activity');
    assert.match(page.text, sentence('activity.by_administrator'));
    for (const { text } of [page, json])
      for (const secret of [reason, administrator.user_id, administrator.email, '203.0.113.77'])
        assert.ok(!text.includes(secret), secret);
    const own = await actionsOf(administrator);
    for (const action of ['user.disabled', 'user.enabled', 'user.factors_reset']) assert.ok(!own.includes(action));
  });

  await t.test('an administrator who ends the session of another sees that in nothing of their own', async () => {
    const user = await signet.signedInUser();
    const { events } = await activityOf(administrator);
    const [row] = await plain(signet.deps.db).all<{ session_id: string }>(
      'select session_id from sessions where user_id = $1',
      [user.user_id],
    );
    const path = `/v1/admin/users/${user.user_id}/sessions/${row?.session_id}`;
    const answer = await administrator.browser.delete(path);
    assert.ok(answer.status < 300, answer.text);
    assert.equal((await signet.auditLog({ action: 'session.ended', target: row?.session_id })).length, 1);
    assert.deepEqual((await activityOf(administrator)).events, events);
  });

  await t.test('names of apps are text, and a deleted app has none', async () => {
    const user = await signet.signedInUser();
    const owner = await signet.signedInUser();
    const name = '</b><img src=x onerror=alert(1)>';
    const hostile = await signet.registerClient({ owner, name, approved: false });
    const review = { client_id: hostile.client_id, caller: { actor: 'cli' } } as const;
    await approveClient(signet.deps, review, { revision: 1, consent: 'required' });
    await allow(user, hostile.authorizePath());
    assert.equal((await activityOf(user, '?kind=apps')).events[0]?.app?.name, name);
    const { text } = await user.browser.get('/account/activity');
    assert.ok(text.includes('&lt;/b&gt;&lt;img src=x onerror=alert(1)&gt;'));
    assert.ok(!text.includes('<img src=x'));
    await owner.browser.delete(`/v1/oauth/clients/${hostile.client_id}`);
    assert.equal((await activityOf(user, '?kind=apps')).events[0]?.app?.name, null);
    assert.ok((await user.browser.get('/account/activity')).text.includes(message('activity.app_gone')));
  });

  await t.test('what is older than 90 days, or than the period, is left out', async () => {
    const user = await signet.signedInUser();
    await user.elsewhere().with({ password: 'not it' }).signIn();
    signet.clock.advance(8 * day);
    await user.signIn();
    assert.deepEqual(await actionsOf(user, '?days=7'), ['session.started']);
    assert.equal((await actionsOf(user, '?days=30')).length, 4);
    await signet.deps.auditLog.seal();
    signet.clock.advance(83 * day);
    await user.signIn();
    assert.deepEqual(await actionsOf(user), ['session.started', 'session.started']);
    signet.clock.advance(91 * day);
    await user.signIn();
    assert.deepEqual(await actionsOf(user), ['session.started']);
  });

  await t.test('what is no filter and no cursor is refused, and nobody sees it without a session', async () => {
    const user = await signet.signedInUser();
    for (const query of ['kind=all', 'days=0', 'days=91', 'limit=0', 'limit=101', 'before=x', 'before=1.2'])
      assertRefused(await user.browser.get(`/v1/me/activity?${query}`), 400, 'invalid_request');
    assert.equal((await user.browser.get('/account/activity?before=x')).status, 400);
    assert.equal((await user.browser.get('/account/activity?kind=x&days=y')).status, 200);
    assertRefused(await signet.newBrowser().get('/v1/me/activity'), 401, 'login_required');
    assert.equal((await signet.newBrowser().get('/account/activity')).status, 303);
  });
});

testSignet('a person downloads all data of their account in one file', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const reason = 'A note that is for colleagues';
  const reset = `/v1/admin/users/${user.user_id}/reset-factors`;
  assert.ok((await administrator.browser.postJson(reset, { reason })).status < 300);
  await user.elsewhere().with({ password: 'not it' }).signIn();
  await user.signIn();
  const page = (await user.browser.get('/account/activity')).text;
  assert.match(page, /<form method="post" action="\/account\/activity\/export">/);
  for (const answer of [
    await user.browser.post('/account/activity/export', {}),
    await user.browser.send('/v1/me/export', { method: 'POST', headers: { origin: signet.url } }),
  ]) {
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="usr_[\w-]+\.json"/);
    const data = JSON.parse(answer.text);
    assert.equal(data.user.email, user.email);
    assert.equal(data.refused_sign_ins.length, 1);
    assert.ok(data.events_by_user.some(({ action }: Listed) => action === 'session.started'));
    const { at: _, ...event } = data.events.find(({ action }: Listed) => action === 'user.factors_reset');
    assert.deepEqual(event, { action: 'user.factors_reset', by: 'administrator' });
    for (const secret of [reason, administrator.user_id, administrator.email]) assert.ok(!answer.text.includes(secret));
  }
  const [exported] = (await activityOf(user)).events;
  assert.deepEqual([exported?.action, exported?.by], ['user.data_exported', 'user']);

  for (let times = 3; times <= 5; times += 1)
    assert.equal((await user.browser.post('/account/activity/export', {})).status, 200);
  assert.equal((await user.browser.post('/account/activity/export', {})).status, 429);
  signet.clock.advance(3600);
  const late = await user.browser.send('/v1/me/export', { method: 'POST', headers: { origin: signet.url } });
  assertRefused(late, 403, 'reauthentication_required');
  assert.equal((await signet.auditLog({ action: 'user.data_exported', target: user.user_id })).length, 5);
});
