import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Engine, freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { readConfig } from '../../app/config.ts';
import type { Db } from '../db/db.ts';
import { RequestError } from '../errors.ts';
import { type CounterDeps, openClientSecretLimits, passwordLimits, windowLimit } from './failure-limits.ts';
import { purgeFailureCounters } from './store.ts';

const minute = 60;
const hour = 3600;
const day = 86_400;

/** A service's database and a clock in seconds that the test moves. */
async function world(t: TestContext, engine: Engine, environment: Record<string, string> = {}) {
  const { db } = await freshDatabase(t, engine);
  let seconds = 1_800_000_000;
  const pass = (more: number) => {
    seconds += more;
  };
  const deps: CounterDeps = { db, clock: () => seconds * 1000, config: readConfig(environment) };
  return { deps, db, pass, at: () => seconds };
}

/** @returns `Retry-After` of the 429 that the attempt ends in; nothing when it is let through. */
async function waitOf(attempt: () => unknown): Promise<number | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestError && error.code === 'rate_limited', String(error));
    return error.retryAfter;
  }
}

const times = (count: number, action: (index: number) => Promise<unknown>) =>
  Array.from({ length: count }, (_, index) => index).reduce<Promise<unknown>>(
    (before, index) => before.then(() => action(index)),
    Promise.resolve(),
  );

const rowsOf = (db: Db) => plain(db).all<{ counter_key: string; failures: number }>('select * from failure_counters');

const ada = 'ada@example.com';
const home = '192.0.2.1';
/** A guesser who never uses the same address twice. */
const elsewhere = (index: number) => `198.51.${Math.floor(index / 250)}.${index % 250}`;

onBothEngines(
  'four wrong passwords cost nothing; the fifth 30 s, and every further one twice as much up to an hour',
  async (t, engine) => {
    const { deps, pass } = await world(t, engine);
    const limits = passwordLimits(deps);
    const waits: (number | undefined)[] = [];
    await times(14, async (index) => {
      await limits.failed(ada, elsewhere(index));
      const wait = await waitOf(() => limits.check(ada, home));
      waits.push(wait);
      if (wait === undefined) return;
      pass(wait - 1);
      assert.equal(await waitOf(() => limits.check(ada, home)), 1);
      pass(1);
      assert.equal(await waitOf(() => limits.check(ada, home)), undefined);
    });
    const none = undefined;
    assert.deepEqual(waits, [none, none, none, none, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  },
);

onBothEngines('the right password clears the account, and leaves no row behind', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(20, async (index) => {
    assert.equal(await limits.failed(ada, elsewhere(index)), (index % 4) + 1);
    if (index % 4 === 3) await limits.succeeded(ada, home);
  });
  assert.equal((await rowsOf(db)).filter(({ counter_key }) => counter_key.startsWith('password-account:')).length, 0);
});

onBothEngines('honest traffic makes no rows', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(100, async () => {
    await limits.check(ada, home);
    await limits.succeeded(ada, home);
  });
  assert.deepEqual(await rowsOf(db), []);
});

onBothEngines(
  'of a hundred failures at once five count: the 101st guess is refused although it is right, and the person waits 30 s',
  async (t, engine) => {
    const { deps, pass } = await world(t, engine);
    const limits = passwordLimits(deps);
    await limits.check(ada, home);
    const counts = await Promise.all(Array.from({ length: 100 }, (_, index) => limits.failed(ada, elsewhere(index))));
    // One burst must not run up to the failure that disables the password: anybody could lock anybody out with it.
    assert.deepEqual(
      counts.sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, index) => Math.min(index + 1, 5)),
    );
    // It passed the check before the others failed; that its verification ends later must not help it.
    assert.equal(await waitOf(() => limits.succeeded(ada, home)), 30);
    pass(30);
    await limits.succeeded(ada, home);
  },
);

onBothEngines('99 consecutive failures are waited out; the 100th is not', async (t, engine) => {
  const { deps, pass } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(99, async (index) => {
    await limits.failed(ada, elsewhere(index));
    pass(hour);
    await limits.check(ada, home);
  });
  await limits.failed(ada, home);
  pass(5 * 365 * day);
  await purgeFailureCounters(deps.db, deps.clock() / 1000, 100);
  await assert.rejects(limits.check(ada, home), { code: 'access_denied' });
});

onBothEngines('a password reset opens a disabled account again', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const limits = passwordLimits(deps);
  await Promise.all(Array.from({ length: 100 }, (_, index) => limits.failed(ada, elsewhere(index))));
  await plain(db).batch(limits.reset(ada));
  await limits.check(ada, home);
  assert.equal(await limits.failed(ada, home), 1);
});

onBothEngines("the block is the account's, however its address is typed, and nobody else's", async (t, engine) => {
  const { deps } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(5, (index) => limits.failed(index % 2 ? ' ADA@Example.com' : ada, elsewhere(index)));
  assert.equal(await waitOf(() => limits.check('Ada@example.COM', home)), 30);
  assert.equal(await waitOf(() => limits.check('grace@example.com', home)), undefined);
});

onBothEngines('no row holds an e-mail address', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  await passwordLimits(deps).failed(ada, home);
  assert.doesNotMatch(JSON.stringify(await rowsOf(db)), /ada|example/);
});

onBothEngines(
  '20 failures in 10 minutes block an address for every account, and the right password too',
  async (t, engine) => {
    const { deps, pass } = await world(t, engine);
    const limits = passwordLimits(deps);
    await times(19, (index) => limits.failed(`user${index}@example.com`, home));
    assert.equal(await waitOf(() => limits.check(ada, home)), undefined);
    await limits.succeeded(ada, home); // An own account must not wash the address clean.
    pass(4 * minute);
    await limits.failed('user19@example.com', home);
    assert.equal(await waitOf(() => limits.check(ada, home)), 6 * minute);
    assert.equal(await waitOf(() => limits.succeeded(ada, home)), 6 * minute);
    assert.equal(await waitOf(() => limits.check(ada, '192.0.2.2')), undefined);
    pass(6 * minute);
    assert.equal(await waitOf(() => limits.check(ada, home)), undefined);
  },
);

onBothEngines('19 failures in every 10 minutes never block an address', async (t, engine) => {
  const { deps, pass } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(60, async (index) => {
    if (index % 19 === 0) pass(10 * minute);
    await limits.failed(`user${index}@example.com`, home);
    await limits.check(ada, home);
  });
});

onBothEngines('moving about inside one IPv6 /64 does not help', async (t, engine) => {
  const { deps } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(20, (index) => limits.failed(`user${index}@example.com`, `2001:db8:1:2::${index}`));
  assert.ok(await waitOf(() => limits.check(ada, '2001:db8:1:2:abcd::1')));
  assert.equal(await waitOf(() => limits.check(ada, '2001:db8:1:3::1')), undefined);
});

onBothEngines(
  'failures below the first block are forgotten after 30 days, blocks after a year; purging changes nothing',
  async (t, engine) => {
    const { deps, db, pass, at } = await world(t, engine);
    const limits = passwordLimits(deps);
    const purge = () => purgeFailureCounters(db, at(), 100);
    await times(4, () => limits.failed(ada, home));
    await times(12, async (index) => {
      await limits.failed('grace@example.com', elsewhere(index));
      pass(hour);
    });
    pass(30 * day - 12 * hour - 1);
    await purge();
    assert.equal(await limits.failed(ada, home), 5);
    assert.equal(await limits.failed('grace@example.com', home), 13);
    pass(365 * day);
    assert.equal(await limits.failed(ada, home), 1);
    await purge();
    assert.equal(await limits.failed('grace@example.com', home), 1);
    pass(30 * day);
    await purge();
    assert.deepEqual(await rowsOf(db), []);
  },
);

onBothEngines('30 wrong client secrets: 429 from this address, while another address is served', async (t, engine) => {
  const { deps, pass } = await world(t, engine);
  const limits = openClientSecretLimits(deps);
  let refused = 0;
  await times(30, async () => {
    const wait = await waitOf(() => limits.check('cl_1', home));
    if (wait === undefined) return limits.failed('cl_1', home);
    assert.equal(wait, minute);
    refused += 1;
  });
  assert.equal(refused, 10);
  limits.check('cl_1', '192.0.2.2');
  limits.check('cl_2', home);
  pass(minute);
  limits.check('cl_1', home);
});

onBothEngines('a blocked client is remembered, and checking reads no store', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const limits = openClientSecretLimits(deps);
  await Promise.all(Array.from({ length: 20 }, () => limits.failed('cl_1', home)));
  await plain(db).batch([{ sql: 'delete from failure_counters' }]);
  assert.equal(await waitOf(() => limits.check('cl_1', home)), minute);
});

onBothEngines('of 50 at once exactly the limit get through, again in the next window', async (t, engine) => {
  const { deps, db, pass } = await world(t, engine);
  const registrations = windowLimit(deps, { name: 'registration', limit: 5, windowSeconds: hour });
  const takeFifty = async () => {
    const waits = await Promise.all(Array.from({ length: 50 }, () => waitOf(() => registrations.take('usr_1'))));
    return waits.filter((wait) => wait === undefined).length;
  };
  assert.equal(await takeFifty(), 5);
  pass(hour - 1);
  assert.equal(await waitOf(() => registrations.take('usr_1')), 1);
  assert.equal(await waitOf(() => registrations.take('usr_2')), undefined);
  pass(1);
  assert.equal(await takeFifty(), 5);
  await plain(db).batch([registrations.forget('usr_1')]);
  assert.equal(await takeFifty(), 5);
});

onBothEngines('a limit of one lets one through', async (t, engine) => {
  const { deps, pass } = await world(t, engine);
  const mails = windowLimit(deps, { name: 'mail', limit: 1, windowSeconds: minute });
  await mails.take('usr_1');
  assert.equal(await waitOf(() => mails.take('usr_1')), minute);
  pass(minute);
  await mails.take('usr_1');
});

onBothEngines('failures of a window are counted beyond the limit and apart from other names', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const codes = windowLimit(deps, { name: 'totp', limit: 10, windowSeconds: hour });
  await Promise.all(Array.from({ length: 100 }, () => codes.failed('usr_1')));
  assert.deepEqual(
    (await rowsOf(db)).map(({ failures }) => failures),
    [100],
  );
  assert.equal(await waitOf(() => codes.check('usr_1')), hour);
  assert.equal(
    await waitOf(() => windowLimit(deps, { name: 'other', limit: 1, windowSeconds: 1 }).check('usr_1')),
    undefined,
  );
});

onBothEngines('SIGNET_RATE_LIMITS=off counts nothing and refuses nothing', async (t, engine) => {
  const { deps, db } = await world(t, engine, { SIGNET_RATE_LIMITS: 'off' });
  const take = windowLimit(deps, { name: 'registration', limit: 1, windowSeconds: hour }).take;
  await times(200, async () => {
    await passwordLimits(deps).failed(ada, home);
    await passwordLimits(deps).check(ada, home);
    await openClientSecretLimits(deps).failed('cl_1', home);
    openClientSecretLimits(deps).check('cl_1', home);
    await take('usr_1');
  });
  assert.deepEqual(await rowsOf(db), []);
});
