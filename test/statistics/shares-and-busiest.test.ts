import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { countFactors } from '../../src/authentication/statements.ts';
import type { OneDb } from '../../src/platform/db/db.ts';
import { busiestClients } from '../../src/statistics/busiest-clients.ts';
import { keepFactorShares, readFactorShares } from '../../src/statistics/factor-shares.ts';
import type { Period } from '../../src/statistics/periods.ts';
import { type message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { watchPlans } from '../support/query-plans.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };
const day = 86_400;

const shareOn = (text: string, label: Parameters<typeof message>[0]) =>
  pattern`<dt>${sentence(label)}</dt><dd>(\d+%)</dd><dd class="change">(.*?)</dd>`.exec(text)?.slice(1) ?? [];

testSignet(
  'the overview says what share of users has a second factor or a passkey, and by how much it has changed',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const read = async (days = 30) => {
      await admin.signIn();
      const { text } = await admin.browser.get(`/admin?days=${days}`);
      return [shareOn(text, 'admin.overview.second_factor'), shareOn(text, 'admin.overview.passkeys')];
    };
    const user = await signet.signedInUser();
    await user.enableTotp();
    assert.deepEqual(await read(), [
      ['50%', '1 of 2; no comparison yet'],
      ['0%', '0 of 2; no comparison yet'],
    ]);
    await runJobs(signet.deps, ['count second factors']);
    signet.clock.advance(day);
    await (await signet.signedInUser()).addPasskey();
    await signet.newUser();
    await runJobs(signet.deps, ['count second factors']);
    await runJobs(signet.deps, ['count second factors']);
    signet.clock.advance(6 * day);
    const passkeys = '1 of 4; +25 percentage points in 7 days';
    assert.deepEqual(await read(7), [
      ['50%', '2 of 4; the same share as 7 days ago'],
      ['25%', '1 of 4; the same share as 7 days ago'],
    ]);
    signet.clock.advance(-day);
    assert.deepEqual((await read(7))[1], ['25%', passkeys], 'from the day before');
  },
);

/** Users by SQL: every second has a second factor. */
const manyUsers = ({ deps }: Signet, count: number) =>
  plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, email_verified_at, active_at, has_second_factor)
     select 'usr_' || i, i || '@e.test', i || '@e.test', 'user', i, i, i, 1, i, i % 2 from n`,
  );

testSignet(
  'of many users, shares are those that the day began with, counted in slices that go on where they ended',
  { env },
  async ({ signet }) => {
    const { deps } = signet;
    const many = 1200 * deps.db.parts.length;
    await manyUsers(signet, many);
    const share = async () => (await readFactorShares(deps, 30, countFactors))?.secondFactor;
    if (deps.db.parts.length === 1) assert.equal(await share(), undefined, 'nothing is counted yet');
    const stopping = new AbortController();
    const slices: number[] = [];
    const stopAfterTwo: typeof countFactors = async (...of) => {
      const some = await countFactors(...of);
      slices.push(some.users);
      if (slices.length === 2) stopping.abort();
      return some;
    };
    const part = deps.db.of('usr_1') as OneDb;
    assert.equal(await keepFactorShares({ ...deps, db: part }, stopAfterTwo, stopping.signal), false);
    assert.equal(await keepFactorShares({ ...deps, db: part }, stopAfterTwo), true);
    assert.equal(
      slices.reduce((sum, one) => sum + one, 0),
      (await plain(part).all('select user_id from users')).length,
      'each user once',
    );
    await runJobs(deps, ['count second factors']);
    assert.deepEqual(await share(), { part: many / 2, whole: many, before: undefined });
    await plain(deps.db).run('update users set has_second_factor = 1');
    await runJobs(deps, ['count second factors']);
    assert.equal((await share())?.part, many / 2, 'once a day');
    signet.clock.advance(day);
    await runJobs(deps, ['count second factors']);
    assert.equal((await share())?.part, many);
  },
);

testSignet('the overview lists the clients with most sign-ins of the period', { env }, async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const listed = async (days: Period) => {
    await admin.signIn();
    const { text } = await admin.browser.get(`/admin?days=${days}`);
    const [, table = ''] = /<h2 id="busiest">(.*?)<h2>/s.exec(text) ?? [];
    return [
      ...table.matchAll(/<th scope="row"><a href="\/admin\/clients\/[\w-]+"><bdi>(.*?)<.*?<td[^>]*>([\d,]+)</gs),
    ].map(([, name, count]) => `${name} ${count}`);
  };
  assert.deepEqual(await listed(30), []);
  const [one, other] = [await signet.registerClient({ name: 'Atlas' }), await signet.registerClient({ name: 'Birch' })];
  const user = await signet.signedInUser();
  await user.obtainTokens(one);
  await user.obtainTokens(one);
  await user.obtainTokens(other);
  assert.deepEqual(await listed(30), ['Atlas 2', 'Birch 1'], 'at once');
  signet.clock.advance(7 * day);
  await user.signIn();
  await user.obtainTokens(other);
  await user.obtainTokens(other);
  assert.deepEqual(await listed(30), ['Birch 3', 'Atlas 2']);
  assert.deepEqual(await listed(7), ['Birch 2']);
});

testSignet('of many clients the busiest are found by an index, summed once an hour', { env }, async ({ signet }) => {
  const { deps } = signet;
  const { db } = deps;
  const { client_id } = await signet.registerClient();
  const [like = {}] = await plain(db).all<object>('select * from clients where client_id = $1', [client_id]);
  const columns = Object.keys(like);
  const differing: Record<string, string> = { client_id: "'cl_' || i", event_id: "'evt_' || i" };
  await plain(db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
     insert into clients (${columns}) select ${columns.map((name) => differing[name] ?? name)} from clients, n where client_id = $1`,
    [client_id],
  );
  const today = Math.floor(signet.clock() / 1000 / day);
  const count = (days: number) =>
    plain(db).run(
      `insert into daily_counts (client_id, kind, day, count)
       select client_id, 'sign_in', $1, cast(substr(client_id, 4) as bigint) from clients where event_id like 'evt_%'
          and client_id <> $2 on conflict (client_id, kind, day) do update set count = daily_counts.count + 1000`,
      [today - days, client_id],
    );
  await count(40);
  await count(2);
  const busiest = async (days: Period) => (await busiestClients(deps, days, 2)).clients;
  assert.deepEqual(await busiest(30), [], 'not summed yet');
  await runJobs(deps, ['sum sign-ins at clients']);
  const { countedAt } = await busiestClients(deps, 30, 2);
  assert.equal(countedAt, signet.clock() / 1000);
  const top = (of: (id: number) => number) => [300, 299].map((id) => ({ client_id: `cl_${id}`, signIns: of(id) }));
  assert.deepEqual(
    await busiest(30),
    top((id) => id),
  );
  assert.deepEqual(
    await busiest(90),
    top((id) => 2 * id),
  );
  await count(2);
  await runJobs(deps, ['sum sign-ins at clients']);
  assert.deepEqual(
    await busiest(30),
    top((id) => id),
    'once an hour',
  );
  signet.clock.advance(3600);
  if (db.engine === 'postgres') await plain(db).run('analyze daily_counts');
  const { plans, stop } = watchPlans(db, /day = 0 and client_id <> ''/);
  await runJobs(deps, ['sum sign-ins at clients']);
  assert.deepEqual(
    await busiest(30),
    top((id) => id + 1000),
  );
  stop();
  for (const plan of plans) assert.match(plan, /daily_counts_busiest/, plan);
  signet.clock.advance(60 * day);
  await runJobs(deps, ['sum sign-ins at clients']);
  assert.deepEqual(await busiest(30), []);
  const rows = await plain(db).all("select kind from daily_counts where kind = 'recent_30'");
  assert.deepEqual(rows, [], 'what is none has no row');
});
