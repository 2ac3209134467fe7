import assert from 'node:assert/strict';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { testSignet } from '../support/signet.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };
const limited = { SIGNET_RATE_LIMITS: 'on' };

testSignet('each list of the console leads back by the pages by which one has come', { env }, async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
  const user = await signet.newUser({ name: 'Grace' });
  const client = await signet.registerClient({ owner: admin });
  const { db } = signet.deps;
  const at = signet.clock() / 1000;
  const many = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 130)';
  await plain(db).run(
    `${many} insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, active_at)
     select 'usr_' || i, i || '@e.test', i || '@e.test', 'user', i, 1, 1, i from n`,
  );
  await plain(db).run(
    `${many} insert into user_terms (user_id, field, term) select 'usr_' || i, 'email', 'e.test' from n`,
  );
  await plain(db).run(
    `${many} insert into unauthenticated_events (event_key, hour, action, first_at, last_at, count)
     select 'k' || i, $1 - i, 'sign_up.asked', $1 - i, $1, 1 from n`,
    [at],
  );
  await plain(db).run(
    `${many} insert into one_time_links (token_hash, purpose, email, created_at, expires_at)
     select 'h' || i, 'invitation', i || '@invited.test', i, $1 from n`,
    [at + 86_400],
  );
  await plain(db).run(
    `${many} insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, dead_at)
     select 'lo_' || i || '.1', $1, $2, 'ses_1', $3 - i, 1, $3 from n`,
    [client.client_id, user.user_id, at],
  );
  await signet.runJobs();
  await plain(db).run(
    `${many} insert into audit_log (event_id, at, action, actor, target, seq, seal)
     select 'evt_' || i, 1, 'user.unlocked', 'cli', 'usr_' || i, 1000 + i, 'x' from n`,
  );
  const lists: readonly [path: string, next: string][] = [
    ['/admin/users', 'users-more'],
    ['/admin/users?order=last_sign_in', 'users-more'],
    ['/admin/users?filter=no_second_factor', 'users-more'],
    ['/admin/users?q=e.test', 'users-more'],
    ['/admin/users/invite', 'invitations-more'],
    ['/admin/audit', 'audit-older'],
    ['/admin/audit/unauthenticated', 'unauthenticated-older'],
    [`/admin/clients/${client.client_id}/logout-deliveries?state=dead`, 'deliveries-older'],
  ];
  for (const [path, next] of lists) {
    const pages: string[] = [];
    const show = async (to: string) => {
      const { status, text } = await admin.browser.get(to);
      assert.equal(status, 200, to);
      const items = text
        .split('<main id="main">')[1]!
        .replaceAll(/value="(?:fm_[\w-]+|usr_[\w-]+)"|<nav class="actions".*?<\/nav>/gs, '');
      return {
        items: [
          ...items.matchAll(
            /user:usr_[\w-]+|<li value="\d+"|<bdi>\d+(?:<wbr>)?@[^<]+|k\d+|lo_\d+|log-time.*?<\/time>/g,
          ),
        ].join(),
        link: (id: string) => new RegExp(`id="${id}" href="([^"]+)"`).exec(text)?.[1]?.replaceAll('&amp;', '&'),
      };
    };
    let here = await show(path);
    pages.push(here.items);
    assert.equal(here.link('page-previous') ?? here.link('page-first'), undefined, path);
    while (here.link(next) !== undefined && pages.length < 3) {
      here = await show(here.link(next)!);
      pages.push(here.items);
    }
    assert.ok(pages.length >= 2 && pages[0] !== pages[1], `${path} has ${pages.length} pages`);
    for (const items of pages.toReversed().slice(1)) {
      here = await show(here.link('page-previous') ?? assert.fail(`no way back at ${path}`));
      assert.equal(here.items, items, path);
    }
    assert.equal(here.link('page-previous'), undefined, path);
  }
});

testSignet(
  'filters of the users say how many they have, exactly or as more than some thousand',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const { db } = signet.deps;
    await signet.newUser({ emailVerified: false });
    const countsIn = async () => {
      const { text } = await admin.browser.get('/admin/users');
      const filters = /<nav aria-label="[^"]*"><p class="actions">(.*?)<\/nav>/s.exec(
        text.split('id="q-hint"')[1]!,
      )![1]!;
      return [...filters.matchAll(/\(([^)]+)\)/g)].map(([, count]) => count);
    };
    assert.deepEqual(await countsIn(), ['2', '0', '1', '1', '2', '0', '0']);
    await plain(db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5002)
     insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, email_verified_at, active_at, has_second_factor)
     select 'usr_' || i, i || '@e.test', i || '@e.test', 'user', i, i, i, 1, i, case when i % 4 = 0 then 0 else 1 end from n`,
    );
    if (db.engine === 'postgres') await plain(db).run('analyze users');
    signet.clock.advance(2);
    const { plans, stop } = watchPlans(db, /count\(\*\) as found.*from users/s);
    const more = message('admin.users.more_than', { count: 5000 });
    assert.deepEqual(await countsIn(), [more, '0', '1', '1', '1,252', more, '0']);
    stop();
    assert.equal(plans.length, 7);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN users(?! USING)|Seq Scan on users/, plan);
  },
);

testSignet(
  'an account that accepts no password at present is listed as locked, and its page says how long',
  { env: limited },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const user = await signet.newUser({ name: 'Grace' });
    const row = async () => {
      const { text } = await admin.browser.get('/admin/users');
      return text.split('<tr>').find((one) => one.includes(user.user_id)) ?? assert.fail('not listed');
    };
    assert.doesNotMatch(await row(), sentence('admin.users.locked'));
    for (let count = 0; count < 5; count += 1) await user.signIn({ password: 'wrong' });
    assert.match(await row(), sentence('admin.users.locked'));
    const { users } = (await admin.browser.get('/v1/admin/users?query=grace')).json as { users: { locked: boolean }[] };
    assert.equal(users[0]?.locked, true);
    signet.clock.advance(10);
    const { text } = await admin.browser.get(`/admin/users/${user.user_id}`);
    assert.match(
      text.replaceAll(/<\/?time[^>]*>/g, ''),
      sentence('admin.users.lock.blocked', { until: 'in 20 seconds' }),
    );
    signet.clock.advance(20);
    assert.doesNotMatch(await row(), sentence('admin.users.locked'));
  },
);
