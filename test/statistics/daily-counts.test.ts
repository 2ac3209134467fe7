import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { readClientStatistics, readStatistics } from '../../src/statistics/read-statistics.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const day = 86_400;
const total = ({ counts }: { counts: readonly number[] }) => counts.reduce((sum, one) => sum + one, 0);

/** Totals of the last thirty days, and what today has. */
async function countsOf({ deps }: Signet) {
  const { signIns, refused, signUps, clients, users } = await readStatistics(deps);
  const [active7, active30] = users.active.map(({ now }) => now);
  const of = (days: typeof signIns) => [total(days), days.counts.at(-1)];
  return {
    signIns: of(signIns),
    refused: of(refused),
    signUps: of(signUps),
    clients: of(clients),
    users: { all: users.all.now, active7, active30 },
  };
}

async function countsOfClient({ deps }: Signet, { client_id }: { client_id: string }) {
  const { signIns, failures } = await readClientStatistics(deps, { client_id, created_at: 0 });
  return [total(signIns), total(failures)];
}

const wrongPassword = (signet: Signet, username: string) =>
  signet.newBrowser().post('/signin', { username, password: 'a guess that is wrong' });

testSignet(
  'what happened is counted once by the day, from the logs, and again from their beginning',
  async ({ signet }) => {
    const [ada, eve] = [await signet.signedInUser(), await signet.signedInUser()];
    await signet.registerClient({ owner: ada });
    await wrongPassword(signet, ada.email);
    signet.clock.advance(day);
    await eve.signIn();
    await signet.newUser();
    await wrongPassword(signet, ada.email);
    await wrongPassword(signet, eve.email);
    // Two nodes at once, and one more time.
    await Promise.all([signet.runJobs(), runJobs(signet.deps)]);
    await signet.runJobs();
    const expected = {
      signIns: [3, 1],
      refused: [3, 2],
      signUps: [3, 1],
      clients: [1, 0],
      users: { all: 3, active7: 2, active30: 2 },
    };
    assert.deepEqual(await countsOf(signet), expected, 'the hour that is not over is counted, too');
    signet.clock.advance(3 * 3600);
    await signet.runJobs();
    assert.deepEqual(await countsOf(signet), expected);

    const { db } = signet.deps;
    await plain(db).run('delete from daily_counts');
    await plain(db).run('delete from active_users');
    await plain(db).run('update counted_places set audit_seq = 0, hour = 0');
    await signet.runJobs();
    assert.deepEqual(await countsOf(signet), expected, 'as an upgrade finds it');
  },
);

testSignet(
  'a user is active on the last day of a sign-in or of a code, until the account is deleted',
  async ({ signet }) => {
    const [ada, eve] = [await signet.signedInUser(), await signet.signedInUser()];
    const client = await signet.registerClient({ owner: ada });
    await signet.runJobs();
    signet.clock.advance(2 * day);
    await eve.obtainTokens(client); // with the session of the first day
    signet.clock.advance(6 * day);
    await signet.runJobs();
    assert.deepEqual((await countsOf(signet)).users, { all: 2, active7: 1, active30: 2 });
    assert.deepEqual(await countsOfClient(signet, client), [1, 0], 'what the client was used for');
    await eve.signIn();
    assert.equal((await eve.browser.post('/account/delete', { email: eve.email })).status, 303);
    await signet.runJobs();
    assert.deepEqual((await countsOf(signet)).users, { all: 1, active7: 0, active30: 1 });
    assert.deepEqual(await plain(signet.deps.db).all('select user_id from active_users'), [{ user_id: ada.user_id }]);
    const { all } = plain(signet.deps.db);
    signet.clock.advance(364 * day);
    await signet.runJobs();
    assert.deepEqual(
      await all('select user_id from active_users'),
      [{ user_id: ada.user_id }],
      'for a chart of a year',
    );
    signet.clock.advance(9 * day);
    await signet.runJobs();
    assert.deepEqual((await countsOf(signet)).users, { all: 1, active7: 0, active30: 0 });
    assert.deepEqual(await all('select day from active_users'), []);
    const kept = async () => {
      const rows = await all<{ kind: string }>("select kind from daily_counts where kind in ('account', 'sign_in')");
      return [...new Set(rows.map(({ kind }) => kind))].sort();
    };
    assert.deepEqual(await kept(), ['account', 'sign_in'], 'for the year before');
    signet.clock.advance(365 * day);
    await signet.runJobs();
    assert.deepEqual(await kept(), ['account']);
  },
);

testSignet(
  'sign-ins and failures of a client are its own, and its owner and administrators see them',
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner, name: 'Quarry' });
    const other = await signet.registerClient({ owner });
    for (const each of [client, client, other]) await owner.obtainTokens(each);
    assert.equal((await client.refresh('rt_unknown')).status, 400);
    await signet.deps.clientFailures.close();
    await signet.runJobs();
    assert.deepEqual(await countsOfClient(signet, client), [2, 1]);
    const admin = await signet.signedInUser({ role: 'admin' });
    const pages = [
      await owner.browser.get(`/developer/clients/${client.client_id}/activity`),
      await admin.browser.get(`/admin/clients/${client.client_id}`),
    ];
    for (const { status, text } of pages) {
      assert.equal(status, 200);
      const [signIns = '', failures = ''] = text.match(/<figure class="chart.*?<\/figure>/gs) ?? [];
      assert.match(signIns, /<strong>2<\/strong>.*<svg[^>]+role="img" aria-label="[^"]+ 2 [^"]+".*<td>2<\/td>/s);
      assert.match(failures, /<figure class="chart bad"><figcaption><strong>1<\/strong>/);
    }
  },
);

/** The charts of a page, each with its caption. */
const chartsOn = (text: string) => text.match(/<figure class="chart.*?<\/figure>/gs) ?? [];
const barsIn = (chart = '') => chart.match(/<tr><th scope="row">/g)?.length;

testSignet(
  'each chart has the change against the period before, and says so where that was not counted',
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    const admin = await signet.signedInUser({ role: 'admin' });
    const pages = () => [
      [admin, '/admin'] as const,
      [admin, `/admin/clients/${client.client_id}`] as const,
      [owner, `/developer/clients/${client.client_id}/activity`] as const,
    ];
    await owner.obtainTokens(client);
    await signet.runJobs();
    for (const [reader, path] of pages()) {
      for (const days of [7, 30, 90, 365]) {
        const { text } = await reader.browser.get(`${path}?days=${days}`);
        const [signIns = ''] = chartsOn(text);
        assert.match(signIns, sentence('chart.change.unknown'), path);
        assert.doesNotMatch(chartsOn(text).join(''), /%|∞|NaN/, 'nothing is not compared');
        assert.match(text, /id="counted-since"/);
        assert.ok(text.includes(`href="${path}?days=${days}#numbers" aria-current="page"`), path);
      }
      assert.equal((await reader.browser.get(`${path}?days=8`)).status, 400);
    }

    signet.clock.advance(200 * day);
    await Promise.all([admin.signIn(), owner.signIn()]);
    const young = await signet.registerClient({ owner });
    const today = Math.floor(signet.clock() / 1000 / day);
    const count = (client_id: string, ago: number, count: number) =>
      plain(signet.deps.db).run(
        `insert into daily_counts (client_id, kind, day, count) values ('${client_id}', 'sign_in', ${today - ago}, ${count})`,
      );
    for (const client_id of ['', client.client_id]) {
      for (const [ago, number] of [
        [1, 30],
        [89, 8],
        [90, 7],
        [91, 20],
        [180, 10],
        [181, 100],
      ] as const)
        await count(client_id, ago, number);
    }
    const percent = (of: number) => new RegExp(`[+]${of}%`);
    for (const [reader, path] of pages()) {
      const signIns = async (days: number) =>
        chartsOn((await reader.browser.get(`${path}?days=${days}`)).text)[0] ?? '';
      const ofQuarter = await signIns(90);
      // Today is not over: it is on the chart, and the 90 whole days before it are compared with those before them.
      assert.match(ofQuarter, sentence('chart.change.before', { percent: '+50%', before: '30', days: 90 }), path);
      assert.match(ofQuarter, percent(50));
      assert.equal(barsIn(ofQuarter), 13, 'weeks');
      assert.match(await signIns(30), sentence('chart.change.before.none', { days: 30 }));
      const ofYear = await signIns(365);
      assert.match(ofYear, sentence('chart.change.unknown'));
      assert.equal(barsIn(ofYear), 52);
      assert.equal(barsIn(await signIns(7)), 7);
    }
    const { text } = await owner.browser.get(`/developer/clients/${young.client_id}/activity?days=90`);
    assert.match(chartsOn(text)[0] ?? '', sentence('chart.change.unknown'), 'it is of today');
  },
);

testSignet('users are compared with how many there were, where a job has kept that', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const eve = await signet.signedInUser();
  await signet.runJobs();
  await signet.signedInUser();
  await Promise.all([signet.runJobs(), runJobs(signet.deps)]); // what the day began with is kept once
  signet.clock.advance(6 * day);
  await admin.signIn();
  await signet.runJobs();
  const users = async (days: 7 | 30) => (await readStatistics(signet.deps, days)).users;
  assert.deepEqual(await users(7), { all: { now: 3, before: 2 }, active: [{ days: 7, now: 3, before: 2 }] });
  signet.clock.advance(6 * day);
  await eve.signIn();
  await admin.signIn();
  await signet.runJobs();
  const { text } = await admin.browser.get('/admin?days=7');
  assert.match(text, sentence('chart.change.ago.same', { days: 7 }));
  const { all, active } = await users(30);
  assert.equal(all.before, undefined);
  assert.deepEqual(active, [
    { days: 7, now: 2, before: 3 },
    { days: 30, now: 3, before: undefined },
  ]);
  const month = await admin.browser.get('/admin');
  assert.match(month.text, sentence('chart.change.unknown'));
});
