import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeUsers } from '../../src/admin/users/list-text.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { signalClient } from '../support/signal-receiver.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };
const limited = { SIGNET_RATE_LIMITS: 'on' };

/** A list that pages forwards and back: where in `src` its pager is drawn, a path to it, and what tells its entries apart. */
type PagedList = { source: string; path: string; entry: RegExp };

const deliveries = /<h3 id="([\w.-]+)"/g;
const users = { source: 'src/admin/users/list-page.ts', entry: /<a href="\/admin\/users\/(usr_[\w-]+)">/g };

/** Each has more than two pages. */
async function pagedLists(signet: Signet, admin: TestUser): Promise<PagedList[]> {
  const user = await signet.newUser({ name: 'Grace' });
  const client = await signet.registerClient({
    owner: admin,
    name: 'Quay',
    backchannel_logout_uri: 'https://rp.test/bye',
  });
  await user.signIn();
  await user.obtainTokens(client);
  const { client_id: service } = await signet.newService();
  const hook = { url: 'https://hooks.example.com/signet', event_types: ['user.created'] };
  const webhook = String((await admin.browser.postJson('/v1/admin/webhooks', hook)).json?.webhook_id);
  const db = plain(signet.deps.db);
  const at = signet.clock() / 1000;
  const many = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 130)';
  const insert = (into: string, values: string, params: unknown[] = []) =>
    db.run(`${many} insert into ${into} select ${values} from n`, params as never);
  /** Rows like the one of the client, but for what must differ. */
  const copies = async (table: string, differing: Record<string, string>) => {
    const [one = {}] = await db.all<object>(`select * from ${table} where client_id = $1`, [client.client_id]);
    const columns = Object.keys(one);
    await db.run(
      `${many} insert into ${table} (${columns}) select ${columns.map((name) => differing[name] ?? name)}
         from ${table}, n where client_id = $1`,
      [client.client_id],
    );
  };
  const attempted = 'created_at, attempts, dead_at';
  await insert(
    'users (user_id, email, email_key, role, created_at, updated_at, terms_of, active_at)',
    `'usr_' || i, i || '@e.test', i || '@e.test', 'user', i, 1, 1, i`,
  );
  await insert('user_terms (user_id, field, term)', `'usr_' || i, 'email', 'e.test'`);
  await insert(
    'unauthenticated_events (event_key, hour, action, first_at, last_at, count)',
    `'k' || i, $1 - i, 'sign_up.asked', $1 - i, $1, 1`,
    [at],
  );
  await insert(
    'one_time_links (token_hash, purpose, email, created_at, expires_at)',
    `'h' || i, 'invitation', i || '@invited.test', i, $1`,
    [at + 86_400],
  );
  await insert(
    `logout_deliveries (delivery_id, client_id, user_id, session_id, ${attempted})`,
    `'lo_' || i || '.1', $1, $2, 'ses_1', $3 - i, 1, $3`,
    [client.client_id, user.user_id, at],
  );
  await copies('clients', {
    client_id: `'cl_' || i`,
    event_id: `'evt_c' || i`,
    created_at: 'created_at + i',
    terms_of: 'null',
  });
  await signet.runJobs();
  await insert(
    `webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, ${attempted})`,
    `'msg_' || i, $1, 'evt_' || i, 'user.created', '{}', i, 1, 1`,
    [webhook],
  );
  const { stream_id } = await (await signalClient(signet)).create();
  await insert(
    `signal_deliveries (delivery_id, stream_id, event_id, ordinal, event_type, payload, ${attempted})`,
    `'msg_s' || i, $1, 'evt_' || i, 0, 'verification', '{"members":{}}', i, 1, 1`,
    [stream_id],
  );
  await insert(
    'audit_log (event_id, at, action, actor, target, seq, seal)',
    `'evt_' || i, 1, 'user.unlocked', 'cli', 'usr_' || i, 1000 + i, 'x'`,
  );
  await copies('grants', { grant_id: `'gr_' || i`, code_hash: `'code_' || i` });
  const entitlement = 'user_id, product, plan, status, source, version';
  await insert(
    `entitlements (${entitlement}, write_id, updated_at)`,
    `$1, 'p' || i, 'pro', 'active', 'billing', 1, '', i / 3`,
    [user.user_id],
  );
  await insert(
    `entitlement_versions (${entitlement}, credential_id, written_at)`,
    `$1, 'p1', 'pro', 'active', 'billing', i, $2, i / 3`,
    [user.user_id, service],
  );
  await insert(
    'groups (group_id, name, name_key, event_id, created_at, updated_at)',
    `'grp_' || i, 'Group ' || i, 'group ' || i, 'evt_g', 1, 1`,
  );
  await insert('group_members (group_id, user_id, added_at)', `'grp_1', 'usr_' || i, i / 3`);
  await insert(
    'refused_addresses (address_hash, email, answer, first_at, last_at, count)',
    `'refused_' || i, i || '@refused.test', '550 no such user', $1 - i, $1 - i / 3, 1`,
    [at],
  );
  const ofUser = `/admin/users/${user.user_id}`;
  const ofClient = `/admin/clients/${client.client_id}`;
  const clients = { source: 'src/admin/clients/list-page.ts', entry: /<a href="\/admin\/clients\/(cl_[\w-]+)">/g };
  return [
    { ...users, path: '/admin/users' },
    { ...users, path: '/admin/users?order=last_sign_in' },
    { ...users, path: '/admin/users?filter=no_second_factor' },
    { ...users, path: '/admin/users?q=e.test' },
    { source: 'src/admin/users/account-pages.ts', path: '/admin/users/invite', entry: /<bdi>(\d+)(?:<wbr>)?@invited/g },
    { source: 'src/admin/mails/refused-page.ts', path: '/admin/users/refused-addresses', entry: /q=(\d+)%40refused/g },
    { source: 'src/admin/users/access-pages.ts', path: `${ofUser}/grants`, entry: /<h2 id="(gr_[\w-]+)"/g },
    {
      source: 'src/admin/users/entitlement-history.ts',
      path: `${ofUser}/entitlements`,
      entry: new RegExp(message('admin.users.entitlements.version', { version: '(\\d+)' }), 'g'),
    },
    { source: 'src/admin/groups/list-page.ts', path: '/admin/groups', entry: /"\/admin\/groups\/(grp_[\w-]+)"/g },
    { source: 'src/admin/groups/page.ts', path: '/admin/groups/grp_1', entry: users.entry },
    { source: 'src/admin/audit/page.ts', path: '/admin/audit', entry: /<dd><code>(evt_[\w.-]+)<\/code>/g },
    {
      source: 'src/admin/audit/unauthenticated-page.ts',
      path: '/admin/audit/unauthenticated',
      entry: /log-time.*?datetime="([^"]+)"/g,
    },
    { ...clients, path: '/admin/clients?state=all' },
    { ...clients, path: '/admin/clients?state=approved&order=newest' },
    { ...clients, path: '/admin/clients?q=quay' },
    {
      source: 'src/admin/entitlements/page.ts',
      path: '/admin/entitlements?status=active',
      entry: /usr_[\w-]+\/entitlements\?product=(p\d+)"/g,
    },
    { source: 'src/admin/signals/page.ts', path: `/admin/signals/${stream_id}/deliveries`, entry: deliveries },
    { source: 'src/admin/webhooks/delivery-page.ts', path: `/admin/webhooks/${webhook}/deliveries`, entry: deliveries },
    {
      source: 'src/admin/clients/logouts-page.ts',
      path: `${ofClient}/logout-deliveries?state=dead`,
      entry: deliveries,
    },
    {
      source: 'src/developer/logout/page.ts',
      path: `/developer/clients/${client.client_id}/activity?state=dead`,
      entry: deliveries,
    },
  ];
}

/** Where a pager is drawn, but for the function of that name, and that of all lists of deliveries. */
function sourcesWithPager(): string[] {
  const root = join(import.meta.dirname, '../..');
  const shared = ['src/platform/pages/lists.ts', 'src/deliveries/page.ts'];
  return globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !shared.includes(file) && !file.endsWith('.test.ts'))
    .flatMap((file) =>
      Array<string>(readFileSync(join(root, file), 'utf8').match(/\b(?:pager|deliveryList)\(/g)?.length ?? 0).fill(
        file,
      ),
    );
}

testSignet(
  'each list that has pages shows every entry once, and leads back by the way one has come',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const lists = await pagedLists(signet, admin);
    assert.deepEqual(
      sourcesWithPager().toSorted(),
      [...new Set(lists.map(({ source }) => source))].toSorted(),
      'each list with a pager, and no other, is in the table',
    );
    for (const { path, entry } of lists) {
      const show = async (to: string) => {
        const { status, text } = await admin.browser.get(to);
        assert.equal(status, 200, to);
        const main = text.split('<main id="main">')[1]!;
        const links = new Map<string, string>();
        const pages = `<nav class="actions" aria-label="${message('lists.pages')}">`;
        for (const [, id = '', href = ''] of (main.split(pages)[1]?.split('</nav>')[0] ?? '').matchAll(
          /id="([^"]+)" href="([^"]+)"/g,
        ))
          links.set(/^page-(?:previous|first)$/.test(id) ? 'back' : 'next', href.replaceAll('&amp;', '&'));
        return { entries: [...main.matchAll(entry)].map(([, one]) => one), links };
      };
      const walk = async (direction: 'next' | 'back', from: Awaited<ReturnType<typeof show>>) => {
        const pages = [from];
        for (let to = from.links.get(direction); to !== undefined; to = pages.at(-1)!.links.get(direction)) {
          assert.ok(pages.length < 20, `${path} has no end`);
          pages.push(await show(to));
        }
        return pages;
      };
      const forwards = await walk('next', await show(path));
      const found = forwards.flatMap(({ entries }) => entries);
      assert.ok(forwards.length > 1, `${path} has ${forwards.length} pages`);
      assert.ok(found.length >= 130, `${path} has ${found.length} entries`);
      assert.equal(new Set(found).size, found.length, `${path} shows an entry twice`);
      const backwards = await walk('back', forwards.at(-1)!);
      assert.deepEqual(
        backwards.map(({ entries }) => entries),
        forwards.map(({ entries }) => entries).toReversed(),
        path,
      );
    }
  },
);

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
    assert.deepEqual(await countsIn(), ['5,000+', '0', '1', '1', '1,252', '5,000+', '0']);
    stop();
    assert.equal(plans.length, 7 * db.parts.length);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN users(?! USING)|Seq Scan on users/, plan);
  },
);

testSignet(
  'filters of deliveries say how many each has, up to five hundred, by an index',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin', name: 'Olivia' });
    const { db } = signet.deps;
    const hook = { url: 'https://hooks.example.com/signet', event_types: ['user.created'] };
    const webhook = String((await admin.browser.postJson('/v1/admin/webhooks', hook)).json?.webhook_id);
    const countsIn = async () => {
      const { text } = await admin.browser.get(`/admin/webhooks/${webhook}/deliveries`);
      const filters = /<p class="actions">(.*?)<\/p>/s.exec(text.split('<h2 class="state">')[1]!)?.[1] ?? '';
      return [...filters.matchAll(/\(([^)]+)\)/g)].map(([, count]) => count);
    };
    const insert = (from: number, to: number, column: string) =>
      plain(db).run(
        `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
         insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, ${column})
         select 'msg_' || i, $1, 'evt_' || i, 'user.created', '{}', i, 1, 5000000000 from n`,
        [webhook],
      );
    assert.deepEqual(await countsIn(), [], 'there is nothing to filter');
    await insert(1, 3, 'dead_at');
    await insert(4, 5, 'next_attempt_at');
    assert.deepEqual(await countsIn(), ['5', '2', '0', '3']);
    await insert(6, 1007, 'delivered_at');
    if (db.engine === 'postgres') await plain(db).run('analyze webhook_deliveries');
    const { plans, stop } = watchPlans(db, /as waiting.*as delivered/s);
    assert.deepEqual(await countsIn(), ['500+', '2', '500+', '3']);
    stop();
    assert.equal(plans.length, db.parts.length);
    for (const plan of plans) assert.doesNotMatch(plan, /SCAN webhook_deliveries(?! USING)/, plan);
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
    const found = (await admin.browser.get('/v1/admin/users?query=grace')).json as Parameters<typeof describeUsers>[0];
    assert.equal(found.users[0]?.locked, true);
    // An account that is locked cannot be used at all: this one can, where its user has signed in before.
    assert.match(message('admin.users.locked'), /password.*new browsers/i);
    assert.match(
      describeUsers(found),
      / {2}password locked {2}.*\n\npassword locked: .* browsers that are new to the account/s,
    );
    signet.clock.advance(10);
    const { text } = await admin.browser.get(`/admin/users/${user.user_id}`);
    assert.match(
      text.replaceAll(/<\/?time[^>]*>/g, ''),
      sentence('admin.users.lock.blocked', { until: 'in 20\u00a0seconds' }),
    );
    signet.clock.advance(20);
    assert.doesNotMatch(await row(), sentence('admin.users.locked'));
  },
);
