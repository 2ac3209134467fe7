import assert from 'node:assert/strict';
import { claimAddress } from '../support/buckets.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { type Signet, testSignet } from '../support/signet.ts';

type Page = { users: { user_id: string; name: string | null }[]; next: string | null; complete: boolean };
const env = { SIGNET_RATE_LIMITS: 'off' };

/** An administrator who searches. */
async function searcherOf(signet: Signet) {
  const { browser } = await signet.signedInUser({ role: 'admin', email: 'root@admin.test' });
  const page = async (query: string, paging = ''): Promise<Page> => {
    const answer = await browser.get(`/v1/admin/users?query=${encodeURIComponent(query)}${paging}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json as Page;
  };
  const found = async (query: string) => (await page(query)).users.map(({ user_id }) => user_id);
  return { browser, page, found };
}

/** Users as a version without a search by terms has left them: `count`, each of which `values` is about by `i`. */
const usersOfOldVersion = (signet: Signet, count: number, values: string) =>
  plain(signet.deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < cast($1 as bigint))
     insert into users (user_id, email, email_key, name, role, created_at, updated_at)
     select ${values}, 'user', i, i from n`,
    [count],
  );

testSignet(
  'a user is found by the beginning of a name, username, address or part of it',
  { env },
  async ({ signet }) => {
    const { found } = await searcherOf(signet);
    const user = await signet.signedInUser({ email: 'Anna.Roe+news@Example.com', name: 'Åsa-Maria Weiß' });
    const other = await signet.newUser({ email: 'bo@example.com' });
    await user.browser.patch('/v1/me', {
      preferred_username: 'silver_fox',
      given_name: 'Åsa',
      middle_name: 'Ingrid',
      family_name: 'Łoś',
    });

    const queries =
      'asa|MARIA|weiss|weis maria|anna.roe+news@example.com|ANNA.R|roe|news@ex|silver|fox|los asa|ł|ingrid';
    for (const query of [...queries.split('|'), user.user_id, '"Weiß, Åsa" <anna>']) {
      assert.deepEqual(await found(query), [user.user_id], query);
    }
    for (const query of ['sa', 'nna', 'asa bo', 'roe@', 'com', '%', 'anna%', '_nna', 'usr_', ',', 'asa usr_x']) {
      assert.deepEqual(await found(query), [], query);
    }
    assert.deepEqual(new Set(await found('example')), new Set([user.user_id, other.user_id]));
  },
);

testSignet('the search follows each change in the same moment', { env, mail: true }, async ({ signet, mailbox }) => {
  const { found } = await searcherOf(signet);
  const user = await signet.signedInUser({ email: 'before@old.test', name: 'Mary Before' });
  const { browser } = user;
  const isFoundBy = async (...queries: string[]) => {
    for (const query of queries) assert.deepEqual(await found(query), [user.user_id], query);
  };
  const isNotFoundBy = async (...queries: string[]) => {
    for (const query of queries) assert.deepEqual(await found(query), [], query);
  };
  await isFoundBy('before', 'mary', 'old.test');

  await browser.patch('/v1/me', { name: 'Mary After', nickname: 'Secret', preferred_username: 'mary' });
  await isFoundBy('after', 'mary', 'before@old', 'mary before');
  await isNotFoundBy('secret');
  await browser.patch('/v1/me', { name: 'Ann After', preferred_username: null });
  await isNotFoundBy('mary');

  await browser.post('/account/email/change', { email: 'now@new.test' });
  await browser.post(linkIn(await mailbox.next('now@new.test'), /^\/verify-email\//));
  await isFoundBy('now', 'new.test', 'ann');
  await isNotFoundBy('before', 'old.test');

  await browser.post('/account/delete', { email: 'now@new.test' });
  await isNotFoundBy('now', 'ann', user.user_id);
  const { db } = signet.deps;
  assert.equal((await plain(db).all('select 1 from user_terms where user_id = $1', [user.user_id])).length, 0);
});

testSignet(
  'users of an earlier version are found by full address or id at once, and by words after a job',
  { env },
  async ({ signet }) => {
    const { browser, page, found } = await searcherOf(signet);
    await usersOfOldVersion(signet, 120, `'usr_' || i, 'old' || i || '@e.test', 'old' || i || '@e.test', 'Name' || i`);
    await claimAddress(signet.deps, 'usr_7', 'old7@e.test');
    for (const query of ['old7@e.test', 'usr_7']) assert.deepEqual(await found(query), ['usr_7'], query);
    assert.deepEqual(await found('name7'), []);
    assert.equal((await page('name7')).complete, false);
    const hint = sentence('admin.users.find.incomplete');
    assert.match((await browser.get('/admin/users?q=name7')).text, hint);

    await signet.runJobs();
    assert.equal((await page('name7')).complete, true);
    assert.doesNotMatch((await browser.get('/admin/users?q=name7')).text, hint);
    assert.equal((await found('old1 name11')).length, 11, '11 and 110 to 119');
    assert.deepEqual(await found('old120'), ['usr_120']);

    // A node of that version renames one during a rolling upgrade.
    await plain(signet.deps.db).run(`update users set name = 'Renamed', updated_at = 999 where user_id = 'usr_7'`);
    await signet.runJobs();
    assert.deepEqual(await found('renamed'), ['usr_7']);
    // What else is changed of a user needs no job.
    await browser.post('/v1/admin/users/usr_7/unlock', {});
    assert.equal((await browser.postJson('/v1/admin/users/usr_7/disable', { reason: 'x' })).status, 200);
    assert.equal((await page('renamed')).complete, true);
  },
);

testSignet(
  'of any number of users, a search reads a part of an index, and its pages have each user once',
  { env },
  async ({ signet }) => {
    const { db } = signet.deps;
    const { page } = await searcherOf(signet);
    await usersOfOldVersion(signet, 5000, `'usr_' || i, i || '@e.test', i || '@e.test', null`);
    await plain(db).run('update users set terms_of = updated_at');
    await plain(db).run(
      `insert into user_terms (term, user_id, field)
       select 'ann' || user_id, user_id, 'email' from users where created_at <= 5000
       union all select 'anna', user_id, 'name' from users where created_at <= 5000 and created_at % 10 = 0
       union all select 'rare', user_id, 'name' from users where created_at <= 5000 and created_at % 250 = 0
       union all select 'zed' || user_id, user_id, 'given_name' from users where created_at between 2001 and 5000`,
    );
    if (db.engine === 'postgres') await plain(db).run('analyze');

    const { plans, stop } = watchPlans(db, /user_terms/);
    for (const [query, users] of [
      ['ann', 5000],
      ['zed ann', 3000],
      ['ann rare', 20],
    ] as const) {
      const seen: string[] = [];
      let next: string | null = '';
      while (next !== null) {
        const one: Page = await page(query, `&limit=500${next && `&after=${next}`}`);
        seen.push(...one.users.map(({ user_id }) => user_id));
        next = one.next;
      }
      assert.deepEqual([seen.length, new Set(seen).size], [users, users], query);
    }
    stop();
    assert.ok(plans.length > 10);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN (user_terms|u|o)\b|Seq Scan on user_terms/, plan);

    const { next } = await page('ann', '&limit=1');
    const answers = [page('rare', `&after=${next}`), page('ann', '&after=1-usr_1')];
    for (const { reason } of (await Promise.allSettled(answers)) as PromiseRejectedResult[]) {
      assert.match(reason.message, /Must be the value of next/);
    }
  },
);
