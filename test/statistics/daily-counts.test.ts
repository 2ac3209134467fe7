import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { readClientStatistics, readStatistics } from '../../src/statistics/read-statistics.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';

const day = 86_400;
const total = ({ counts }: { counts: readonly number[] }) => counts.reduce((sum, one) => sum + one, 0);

/** Totals of the last thirty days, and what today has. */
async function countsOf({ deps }: Signet) {
  const { signIns, refused, signUps, clients, users } = await readStatistics(deps);
  const of = (days: typeof signIns) => [total(days), days.counts.at(-1)];
  return { signIns: of(signIns), refused: of(refused), signUps: of(signUps), clients: of(clients), users };
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
    assert.deepEqual(
      Object.values(await readClientStatistics(signet.deps, client.client_id)).map(total),
      [1, 0],
      'what the client was used for',
    );
    await eve.signIn();
    assert.equal((await eve.browser.post('/account/delete', { email: eve.email })).status, 303);
    await signet.runJobs();
    assert.deepEqual((await countsOf(signet)).users, { all: 1, active7: 0, active30: 1 });
    assert.deepEqual(await plain(signet.deps.db).all('select user_id from active_users'), [{ user_id: ada.user_id }]);
    signet.clock.advance(63 * day);
    await signet.runJobs();
    assert.deepEqual((await countsOf(signet)).users, { all: 1, active7: 0, active30: 0 });
    assert.deepEqual(await plain(signet.deps.db).all('select day from active_users'), []);
    assert.deepEqual(await plain(signet.deps.db).all('select kind from daily_counts'), [{ kind: 'account' }]);
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
    const days = await readClientStatistics(signet.deps, client.client_id);
    assert.deepEqual([total(days.signIns), total(days.failures)], [2, 1]);
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
