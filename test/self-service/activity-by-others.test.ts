import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionsBy, auditActions } from '../../src/audit/actions.ts';
import { type Actor, auditEvent } from '../../src/audit/audit.ts';
import { now } from '../../src/platform/clock.ts';
import { sliceRows } from '../../src/platform/db/slices.ts';
import { isOfActivity, unshown } from '../../src/self-service/activity/events.ts';
import { newGroup } from '../support/groups.ts';
import { inEachStore } from '../support/in-each-store.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { newService, postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { trustSomeBrowser } from '../support/trusted-browsers.ts';

const day = 86_400;

type Listed = {
  action: string;
  kind: string;
  by: string;
  address: string | null;
  app: { client_id: string; name: string | null } | null;
  group: { group_id: string; name: string | null } | null;
};

async function activityOf({ browser }: TestUser, query = ''): Promise<{ events: Listed[]; next: string | null }> {
  const answer = await browser.get(`/v1/me/activity${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as { events: Listed[]; next: string | null };
}

/** But for sign-ins and what made the account. */
const told = async (user: TestUser, query = '') =>
  (await activityOf(user, query)).events.filter(({ action }) => !/^(session\.started|user\.created)$/.test(action));

const inShort = (events: readonly Listed[]) => events.map(({ action, kind, by }) => [action, kind, by]);

const exportOf = async ({ browser }: TestUser) => {
  const answer = await browser.post('/account/activity/export', {});
  assert.equal(answer.status, 200, answer.text);
  return { text: answer.text, data: JSON.parse(answer.text) as Record<string, Record<string, unknown>[]> };
};

async function asJson(answer: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await answer;
  assert.ok(status < 300, `${status} ${text}`);
}

inEachStore(
  'what others end of a person is in that person’s activity, and in nobody else’s',
  { env: { SIGNET_TRUSTED_BROWSER_DAYS: '30' } },
  async (_t, signet) => {
    const { deps, clock } = signet;
    const administrator = await signet.signedInUser({ role: 'admin' });
    const stranger = await signet.signedInUser();
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ name: 'Field Notes' });
    const elsewhere = await user.signedInElsewhere();
    await user.obtainTokens(client);
    const browser_id = await trustSomeBrowser(signet, user.user_id);
    const { group_id } = await newGroup(signet, 'Editors');
    const service = await newService(signet);
    await elsewhere.browser.get('/account');
    const reason = 'A note that is for colleagues';
    const at = { 'x-forwarded-for': '203.0.113.77' };
    const admin = `/v1/admin/users/${user.user_id}`;
    const sessions = (await administrator.browser.get(`${admin}/sessions`)).json as {
      sessions: { session_id: string }[];
    };
    const grants = (await administrator.browser.get(`${admin}/grants`)).json as { grants: { grant_id: string }[] };
    const own = await told(administrator);
    const { browser } = administrator;
    const group = `/v1/admin/groups/${group_id}`;
    const acts: readonly (() => Promise<unknown>)[] = [
      () => asJson(browser.delete(`/v1/admin/grants/${grants.grants[0]!.grant_id}`, { reason })),
      () => asJson(browser.delete(`${admin}/trusted-browsers/${browser_id}`, { reason })),
      () => asJson(browser.postJson(`${group}/members`, { user: user.user_id })),
      () => asJson(browser.postJson(`${group}/remove-member`, { user: user.user_id })),
      () => asJson(browser.delete(`${admin}/sessions/${sessions.sessions.at(-1)!.session_id}`, { reason })),
      () => postEntitlement(signet, service.authorization, writeOf(user.user_id)),
      () => asJson(browser.patch(admin, { email: `new-${user.email}`, reason })),
      () => asJson(browser.postJson(`${admin}/sign-out`, { reason })),
      () =>
        user
          .elsewhere()
          .with({ email: `new-${user.email}` })
          .signIn(),
      () => asJson(browser.postJson(`${admin}/reset-factors`, { reason }, at)),
    ];
    for (const act of acts) {
      clock.advance(60);
      await act().catch((error) => assert.fail(`${act}: ${error}`));
    }
    clock.advance(60);
    const back = user.with({ email: `new-${user.email}` });
    await back.signIn();
    const expected = [
      ['user.factors_reset', 'security', 'administrator'],
      ['user.signed_out', 'sign_ins', 'administrator'],
      ['email.changed', 'security', 'administrator'],
      ['entitlement.written', 'apps', 'app'],
      ['session.ended', 'sign_ins', 'administrator'],
      ['group.member_removed', 'security', 'administrator'],
      ['group.member_added', 'security', 'administrator'],
      ['trusted_browser.ended', 'sign_ins', 'administrator'],
      ['grant.revoked', 'apps', 'administrator'],
    ];
    for (const sealed of [false, true]) {
      if (sealed) await deps.auditLog.seal();
      const events = await told(back);
      assert.deepEqual(inShort(events), expected, `sealed: ${sealed}`);
      assert.ok(events.every(({ address }) => address === null));
      assert.deepEqual(events.at(-1)?.app, { client_id: client.client_id, name: 'Field Notes' });
      assert.deepEqual(events[6]?.group, { group_id, name: 'Editors' });
      for (const kind of ['sign_ins', 'security', 'apps'])
        assert.deepEqual(
          inShort(await told(back, `?kind=${kind}`)),
          expected.filter(([, of]) => of === kind),
        );
      assert.deepEqual(await told(stranger), []);
      assert.deepEqual(await told(administrator), own, 'nothing of it is the administrator’s own');
    }

    const page = await back.browser.get('/account/activity');
    for (const name of ['Editors', 'Field Notes']) assert.ok(page.text.includes(name), name);
    for (const key of [
      'activity.event.group_joined',
      'activity.event.group_left',
      'mail.grant_ended.subject',
      'activity.event.signed_out',
      'activity.event.trusted',
      'activity.event.subscriptions',
    ] as const)
      assert.match(page.text, sentence(key));
    await asJson(browser.delete(group));
    assert.ok((await back.browser.get('/account/activity')).text.includes(message('activity.group_gone')));

    const { text, data } = await exportOf(back);
    assert.deepEqual(
      data.events_by_others?.map(({ action, by }) => [action, by]),
      ['session.ended', 'group.member_removed', 'group.member_added', 'trusted_browser.ended', 'grant.revoked'].map(
        (action) => [action, 'administrator'],
      ),
    );
    for (const shown of [page.text, text, JSON.stringify(await told(back))])
      for (const secret of [reason, administrator.user_id, administrator.email, '203.0.113.77'])
        assert.ok(!shown.includes(secret), secret);
    assert.deepEqual((await exportOf(stranger)).data.events_by_others, []);
  },
);

/** The tokens that the user has got, as often again. */
async function copyGrants({ deps }: Signet, { client_id }: RegisteredClient, times: number): Promise<void> {
  const at = now(deps);
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${times})
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge, code_expires_at,
                         redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at)
     select 'gr_' || i || '_' || substr(g.client_id, 5) || substr(g.user_id, 5), g.client_id, g.user_id, g.session_id, g.scope, g.redirect_uri, 'code_' || i || g.grant_id, 'x',
            cast($2 as bigint), cast($2 as bigint), 1, g.idle_expires_at, g.expires_at, g.auth_time, g.amr, g.acr, cast($2 as bigint)
       from n, (select * from grants where client_id = cast($1 as text)) as g`,
    [client_id, at],
  );
}

for (const size of ['a few', 'many'] as const) {
  inEachStore(
    `people lose an app with ${size} grants by its suspension or deletion, and are told once`,
    {},
    async (_t, signet) => {
      const { deps, clock } = signet;
      const administrator = await signet.signedInUser({ role: 'admin' });
      const owner = await signet.signedInUser();
      const users = [await signet.signedInUser(), await signet.signedInUser(), await signet.signedInUser()];
      const stranger = await signet.signedInUser();
      const apps = {
        suspended: await signet.registerClient({ owner, name: 'Field Notes' }),
        deleted: await signet.registerClient({ owner, name: 'Old Notes' }),
        notified: await signet.registerClient({
          owner,
          name: 'Loud Notes',
          backchannel_logout_uri: 'https://app.example.com/logout',
        }),
      };
      for (const user of users) for (const app of Object.values(apps)) await user.obtainTokens(app);
      if (size === 'many')
        for (const app of Object.values(apps))
          await copyGrants(signet, app, Math.ceil((sliceRows * 1.5) / users.length));
      clock.advance(60);
      const path = (app: RegisteredClient) => `/v1/admin/clients/${app.client_id}`;
      await asJson(
        administrator.browser.postJson(`${path(apps.suspended)}/suspend`, { reason: 'It leaked its secret.' }),
      );
      clock.advance(60);
      await asJson(administrator.browser.delete(path(apps.deleted)));
      clock.advance(60);
      await asJson(administrator.browser.delete(path(apps.notified)));
      clock.advance(60);
      for (let round = 0; round < 3; round += 1) await signet.runJobs(); // the rows of what is deleted go, and its own
      for (const user of users) {
        const events = await told(user, '?kind=apps');
        assert.deepEqual(
          events.map(({ action, by, address, app }) => [action, by, address, app?.name]),
          [
            ['client.deleted', 'app', null, 'Loud Notes'],
            ['client.deleted', 'app', null, 'Old Notes'],
            ['client.suspended', 'administrator', null, 'Field Notes'],
          ],
        );
        const seen: string[] = [];
        for (let next: string | null = ''; next !== null; ) {
          const one: Awaited<ReturnType<typeof activityOf>> = await activityOf(
            user,
            `?kind=apps&limit=1&before=${next}`,
          );
          seen.push(...one.events.flatMap(({ app }) => app?.name ?? []));
          next = one.next;
        }
        assert.deepEqual(seen, ['Loud Notes', 'Old Notes', 'Field Notes'], 'a page at a time');
        assert.deepEqual(await told(user, '?kind=security'), []);
      }
      assert.deepEqual(await told(stranger), []);
      const page = (await users[0]!.browser.get('/account/activity')).text;
      assert.match(page, sentence('activity.event.app_suspended'));
      assert.match(page, sentence('activity.event.app_deleted'));
      const { data } = await exportOf(users[0]!);
      assert.deepEqual(
        data.lost_apps?.map(({ name, action }) => [name, action]),
        [
          ['Loud Notes', 'client.deleted'],
          ['Old Notes', 'client.deleted'],
          ['Field Notes', 'client.suspended'],
        ],
      );
      assert.deepEqual((await exportOf(stranger)).data.lost_apps, []);

      // A second suspension is another loss for those who came back alone.
      await asJson(administrator.browser.postJson(`${path(apps.suspended)}/reinstate`, {}));
      clock.advance(60);
      await users[1]!.obtainTokens(apps.suspended);
      await asJson(administrator.browser.postJson(`${path(apps.suspended)}/suspend`, { reason: 'Again.' }));
      await signet.runJobs();
      assert.equal((await told(users[1]!, '?kind=apps')).length, 4);
      assert.equal((await told(users[0]!, '?kind=apps')).length, 3);

      clock.advance(91 * day);
      await signet.runJobs();
      const left = await plain(deps.db).all('select user_id from lost_apps');
      assert.equal(left.length, 0, 'kept for 90 days');
    },
  );
}

test('every event of the log is shown to whom it concerns, or it is said why not', () => {
  for (const action of auditActions)
    assert.notEqual(isOfActivity(action), Object.hasOwn(unshown, action), `${action}: decide in activity/events.ts`);
  for (const action of actionsBy('user_id')) assert.ok(isOfActivity(action), `${action} names a user`);
});

testSignet('whatever the log has about a person is found, whoever did it', async ({ signet }) => {
  const { deps, clock } = signet;
  const user = await signet.signedInUser();
  const stranger = await signet.signedInUser();
  const { user_id } = user;
  const names = new Set(actionsBy('user_id'));
  const others: readonly Actor[] = ['cli', 'system', `user:${stranger.user_id}`];
  const isUsersOwn = new Set(actionsBy('users'));
  clock.advance(1);
  for (const action of auditActions) {
    const of = names.has(action) ? { target: 'x', after: { user_id, client_id: 'app_x' } } : { target: user_id };
    const actors = isUsersOwn.has(action) ? others.slice(0, 2) : others;
    const events = actors.map((actor) => auditEvent({ action, actor, ...of }, now(deps)).statement);
    await deps.db.of(user_id).change({ run: { events } });
    clock.advance(1);
  }
  await deps.auditLog.seal();
  const events: Listed[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page: Awaited<ReturnType<typeof activityOf>> = await activityOf(user, `?limit=100&before=${next}`);
    events.push(...page.events);
    next = page.next;
  }
  const seen = new Set(events.map(({ action }) => action));
  for (const action of auditActions) {
    const isExpected = isOfActivity(action) && action !== 'security_alert.raised'; // of a kind that has an event of its own
    assert.equal(seen.has(action), isExpected, action);
  }
  assert.equal(events.filter(({ action }) => action === 'session.ended').length, others.length);
  assert.equal(events.filter(({ action }) => action === 'grant.revoked').length, 2, 'by an administrator alone');
  assert.deepEqual(await told(stranger), []);
});
