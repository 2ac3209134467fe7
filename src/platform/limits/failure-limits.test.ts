import assert from 'node:assert/strict';
import { onBothEngines } from '../../../test/support/databases.ts';
import { home, hour, minute, rowsOf, times, waitOf, world } from '../../../test/support/failure-counters.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { addressLimit, openClientSecretLimits, windowLimit } from './failure-limits.ts';

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

onBothEngines('the addresses of an IPv6 /48 together may do sixteen times what one may', async (t, engine) => {
  const { deps, pass } = await world(t, engine);
  const mails = addressLimit(deps, { name: 'mail', limit: 2, windowSeconds: minute });
  const within = (network: number) => (_: unknown, index: number) => `2001:db8:${network}:${index % 20}::${index}`;
  const taken = async (addresses: readonly string[]) => {
    const waits = await Promise.all(addresses.map((address) => waitOf(() => mails.take(address))));
    return waits.filter((wait) => wait === undefined).length;
  };
  const addresses = Array.from({ length: 80 }, within(1));
  assert.equal(await taken(addresses), 32);
  assert.equal(await waitOf(() => mails.check('2001:db8:1:999::1')), minute);
  assert.equal(await taken(Array.from({ length: 10 }, () => '2001:db8:2:1::1')), 2);
  assert.equal(await taken(Array.from({ length: 80 }, () => home)), 2, 'an IPv4 address has no network');
  pass(minute);
  assert.equal(await taken(addresses), 32);
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
    await openClientSecretLimits(deps).failed('cl_1', home);
    openClientSecretLimits(deps).check('cl_1', home);
    await take('usr_1');
  });
  assert.deepEqual(await rowsOf(db), []);
});
