import assert from 'node:assert/strict';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };
type Listed = { user_id: string; last_sign_in_at: number | null; factors: Record<string, unknown> };

async function readerOf(signet: Signet) {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Root' });
  const page = async (query: string) => {
    const answer = await admin.browser.get(`/v1/admin/users?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json as { users: Listed[]; next: string | null };
  };
  const ids = async (query: string) => (await page(query)).users.map(({ user_id }) => user_id);
  return { admin, page, ids };
}

testSignet(
  'the list narrows to users who deserve a look, and says when and with what each signs in',
  { env },
  async ({ signet }) => {
    const { admin, page, ids } = await readerOf(signet);
    const start = signet.clock() / 1000;
    const [never, user] = [await signet.newUser({ emailVerified: false }), await signet.newUser({ name: 'Zed' })];
    signet.clock.advance(60);
    await user.signIn();
    await admin.signIn();
    const of = async ({ user_id }: { user_id: string }) =>
      (await page('')).users.find((one) => one.user_id === user_id) ?? assert.fail('not listed');
    assert.equal((await of(never)).last_sign_in_at, null);
    assert.equal((await of(user)).last_sign_in_at, start + 60);
    assert.deepEqual((await of(user)).factors, { password: true, totp: 'none', passkeys: 0, providers: [] });

    const lacks = () => ids('filter=no_second_factor');
    assert.ok((await lacks()).includes(user.user_id));
    await user.enableTotp();
    assert.ok(!(await lacks()).includes(user.user_id), 'an authenticator app');
    await user.addPasskey();
    assert.deepEqual((await of(user)).factors, { password: true, totp: 'active', passkeys: 1, providers: [] });
    await user.browser.send('/v1/me/2fa/totp', { method: 'DELETE', headers: { origin: signet.url } });
    assert.ok(!(await lacks()).includes(user.user_id), 'a passkey is left');
    const post = (action: string, body: object) =>
      admin.browser.postJson(`/v1/admin/users/${user.user_id}/${action}`, body);
    assert.equal((await post('reset-factors', { reason: 'Lost.' })).status, 200);
    assert.ok((await lacks()).includes(user.user_id));

    // What a node of the version before has not noted is noted at the next sign-in.
    await plain(signet.deps.db).run('update users set has_second_factor = 1 where user_id = $1', [user.user_id]);
    assert.ok(!(await lacks()).includes(user.user_id));
    await user.signIn();
    assert.ok((await lacks()).includes(user.user_id));

    assert.deepEqual(await ids('filter=unverified'), [never.user_id]);
    assert.deepEqual(await ids('filter=administrators'), [admin.user_id]);
    assert.deepEqual(await ids('filter=disabled'), []);
    await post('disable', { reason: 'Left.' });
    assert.deepEqual(await ids('filter=disabled'), [user.user_id]);
    assert.deepEqual(await ids('filter=stale'), []);
    signet.clock.advance(90 * 86_400 + 1);
    await admin.signIn();
    assert.deepEqual(
      await ids('filter=stale'),
      [never.user_id, user.user_id],
      'whose last sign-in is longest ago first',
    );
    assert.deepEqual(await ids('order=last_sign_in'), [admin.user_id, user.user_id, never.user_id]);

    assert.deepEqual(await ids('query=zed'), [user.user_id]);
    for (const filter of ['disabled', 'stale', 'no_second_factor']) {
      assert.deepEqual(await ids(`query=zed&filter=${filter}`), [user.user_id], filter);
      assert.deepEqual(await ids(`query=${user.user_id}&filter=${filter}`), [user.user_id], filter);
    }
    for (const query of ['query=zed', `query=${user.email}`]) {
      assert.deepEqual(await ids(`${query}&filter=administrators`), [], query);
    }
    for (const query of ['filter=x', 'order=x']) {
      assert.equal((await admin.browser.get(`/v1/admin/users?${query}`)).status, 400, query);
    }
    const { text } = await admin.browser.get('/admin/users?filter=disabled');
    const both = (await admin.browser.get('/admin/users?filter=disabled&q=zed')).text;
    assert.ok(both.includes(user.user_id), 'a search within a filter');
    assert.match(both, /<input type="hidden" name="filter" value="disabled">/, 'stays when one searches anew');
    assert.match(both, /id="users-clear"/);
    assert.match(both, /href="\/admin\/users\?q=zed&amp;filter=stale"/);
    const other = (await admin.browser.get('/admin/users?filter=administrators&q=zed')).text;
    assert.ok(!other.includes(user.user_id), 'no other users');
    const address = encodeURIComponent(user.email.slice(0, user.email.indexOf('@') + 3));
    assert.ok((await admin.browser.get(`/admin/users?q=${address}`)).text.includes(user.user_id), 'by how it begins');
    assert.match(text, pattern`aria-current="page">${sentence('admin.users.filter.disabled')}`);
    assert.match(
      text,
      pattern`>ZE?<.*?<bdi>Zed</bdi>.*?${sentence('admin.users.factor.password')}.*?${sentence('admin.users.disabled')}`,
    );
    assert.match(
      (await admin.browser.get('/admin/users')).text,
      pattern`<td data-label="[^"]*"><div>${sentence('admin.users.never')}`,
    );
    const deleted = await admin.browser.send(`/v1/admin/users/${user.user_id}`, {
      method: 'DELETE',
      headers: { origin: signet.url, 'content-type': 'application/json' },
      body: JSON.stringify({ email: user.email, reason: 'Left.' }),
    });
    assert.equal(deleted.status, 204, deleted.text);
    assert.deepEqual(await ids('filter=disabled'), []);
  },
);

testSignet(
  'of any number of users, each filter and order reads its page by an index, and its pages have each user once',
  { env },
  async ({ signet }) => {
    const { db } = signet.deps;
    const { page } = await readerOf(signet);
    await plain(db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
       insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, email_verified_at, disabled_at,
                          last_sign_in_at, active_at, has_second_factor)
       select 'usr_' || i, i || '@e.test', i || '@e.test', 'user', 1 + i / 3, i, i, case when i % 100 = 0 then null else 1 end,
              case when i % 100 = 1 then 1 end, case when i % 2 = 0 then 1 + i / 5 end, case when i % 2 = 0 then 1 + i / 5 else 1 + i / 3 end, case when i % 100 = 2 then 0 else 1 end
         from n`,
    );
    if (db.engine === 'postgres') await plain(db).run('analyze');
    const { plans, stop } = watchPlans(db, /from users where deleted_at is null/);
    for (const [query, users] of [
      ['', 4001],
      ['order=last_sign_in', 4001],
      ['filter=stale', 4000],
      ['filter=disabled', 40],
      ['filter=unverified', 40],
      ['filter=no_second_factor', 41],
    ] as const) {
      const seen: string[] = [];
      const limit = users < 100 ? 7 : 500;
      for (let next: string | null = ''; next !== null; ) {
        const one: Awaited<ReturnType<typeof page>> = await page(`${query}&limit=${limit}${next && `&after=${next}`}`);
        seen.push(...one.users.map(({ user_id }) => user_id));
        next = one.next;
      }
      assert.deepEqual([seen.length, new Set(seen).size], [users, users], query);
    }
    stop();
    const indexes = [
      'users_newest',
      'users_by_activity',
      'users_disabled',
      'users_unverified',
      'users_without_second_factor',
    ];
    for (const index of indexes)
      assert.ok(
        plans.some((plan) => plan.includes(index)),
        index,
      );
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN users\b|Seq Scan on users|TEMP B-TREE/, plan);
    const narrow = plans.filter((plan) =>
      /email_verified_at is null|disabled_at is not null|has_second_factor = 0/.test(plan),
    );
    for (const plan of narrow) assert.doesNotMatch(plan, /users_newest/, plan);
  },
);
