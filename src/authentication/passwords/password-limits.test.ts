import assert from 'node:assert/strict';
import { onBothEngines } from '../../../test/support/databases.ts';
import { home, hour, minute, rowsOf, times, waitOf, world } from '../../../test/support/failure-counters.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { askAll } from '../../platform/db/parts.ts';
import { deleteExpired } from '../../platform/db/table-rows.ts';
import { passwordLimits, resetPasswordLimits } from './password-limits.ts';

const day = 86_400;

const ada = 'ada@example.com';
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
  'of a hundred failures at once five count: the 101st guess is refused although it is right, and the user waits 30 s',
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
  await deleteExpired(deps.db.parts[0]!, 'failure_counters', deps.clock() / 1000 + 1, 100);
  await assert.rejects(limits.check(ada, home), { code: 'access_denied' });
});

onBothEngines('a password reset opens a disabled account again', async (t, engine) => {
  const { deps, db } = await world(t, engine);
  const limits = passwordLimits(deps);
  await Promise.all(Array.from({ length: 100 }, (_, index) => limits.failed(ada, elsewhere(index))));
  await plain(db).batch(resetPasswordLimits(ada));
  await limits.check(ada, home);
  assert.equal(await limits.failed(ada, home), 1);
});

onBothEngines("the block is the account's, however its address is typed, and no other account's", async (t, engine) => {
  const { deps } = await world(t, engine);
  const limits = passwordLimits(deps);
  await times(5, (index) => limits.failed(index % 2 ? ' ADA@Example.com' : ada, elsewhere(index)));
  assert.equal(await waitOf(() => limits.check('Ada@example.COM', home)), 30);
  assert.equal(await waitOf(() => limits.check('grace@example.com', home)), undefined);
});

onBothEngines('no row holds an email address', async (t, engine) => {
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
  'moving about inside one IPv6 /48 does not help for long, and leaves few rows behind',
  async (t, engine) => {
    const { deps, db } = await world(t, engine, { SIGNET_LIMIT_PASSWORD_ADDRESS_FAILURES: '2' });
    const limits = passwordLimits(deps);
    await times(50, async (index) => {
      const address = `2001:db8:1:${index}::1`;
      const wait = await waitOf(() => limits.check(`user${index}@example.com`, address));
      if (wait === undefined) await limits.failed(`user${index}@example.com`, address);
    });
    const rows = await rowsOf(db);
    assert.equal(rows.filter(({ counter_key }) => counter_key.startsWith('password-account:')).length, 32);
    assert.ok(await waitOf(() => limits.check(ada, '2001:db8:1:999::1')));
    assert.equal(await waitOf(() => limits.check(ada, '2001:db8:2::1')), undefined);
  },
);

onBothEngines(
  'failures below the first block are forgotten after 30 days, blocks after a year; purging changes nothing',
  async (t, engine) => {
    const { deps, db, pass, at } = await world(t, engine);
    const limits = passwordLimits(deps);
    const purge = () => askAll(db, (part) => deleteExpired(part, 'failure_counters', at() + 1, 100));
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

onBothEngines('SIGNET_RATE_LIMITS=off counts no password and refuses none', async (t, engine) => {
  const { deps, db } = await world(t, engine, { SIGNET_RATE_LIMITS: 'off' });
  await times(200, async () => {
    await passwordLimits(deps).failed(ada, home);
    await passwordLimits(deps).check(ada, home);
  });
  assert.deepEqual(await rowsOf(db), []);
});
