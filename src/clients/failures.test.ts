import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import pino from 'pino';
import { databaseBefore, freshDatabase, onBothEngines } from '../../test/support/databases.ts';
import { plain } from '../../test/support/plain-sql.ts';
import { until } from '../../test/support/until.ts';
import { migrate } from '../platform/db/migrate.ts';
import { countFailure, failuresOf } from './failures.store.ts';
import { closestMatch, commonEnd, commonStart, openFailureRecorder, withoutSecrets } from './failures.ts';

test('the redirect URI that was probably meant is the one that is most alike', () => {
  const registered = ['https://shop.test/cb', 'https://shop.test/admin/cb', 'http://localhost:3000/cb'];
  const meant = {
    'https://shop.test/cb/': registered[0],
    'http://shop.test/cb': registered[0],
    'https://shop.test/admin/callback': registered[1],
    'http://localhost:3001/cb': registered[2],
    'http://localhost:3000/': registered[2],
  };
  for (const [sent, expected] of Object.entries(meant)) assert.equal(closestMatch(registered, sent), expected, sent);
  assert.equal(closestMatch([], 'x'), undefined);
});

test('what two texts have in common is cut from both without cutting a character in half', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '😀', '😁', 'é'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      const start = commonStart(one, other);
      const end = commonEnd(one.slice(start), other.slice(start));
      assert.equal(one.slice(0, start), other.slice(0, start));
      assert.equal(one.slice(one.length - end), other.slice(other.length - end));
      for (const integer of [one, other]) {
        const parts = [
          integer.slice(0, start),
          integer.slice(start, integer.length - end),
          integer.slice(integer.length - end),
        ];
        assert.equal(parts.join(''), integer);
        assert.ok(parts.every((part) => part.isWellFormed()));
      }
    }),
    { numRuns: 2000 },
  );
});

test('no code, token or secret of ours is kept, nor a JWT of anybody, escaped or not', () => {
  const code = `ac_${'x'.repeat(43)}`;
  for (const before of ['', 'https://a.test/cb?code=', 'https://a.test/cb?next=%3Fcode%3D', '/', '"']) {
    for (const secret of [code, code.replace('ac_', 'rt_'), 'eyJhbGciOiJub25lIn0.e30.']) {
      assert.equal(withoutSecrets(before + secret), `${before}[removed]`);
    }
  }
  assert.equal(withoutSecrets('https://a.test/mac_book_and_more_words'), 'https://a.test/mac_book_and_more_words');
});

/** A recorder whose writes wait until they are let go. */
async function slowRecorder(t: TestContext) {
  const { db } = await freshDatabase(t, 'sqlite');
  const isOpen = Promise.withResolvers<void>();
  const written: string[] = [];
  const { commit } = db;
  db.commit = async (steps) => {
    await isOpen.promise;
    written.push(String(steps[0]?.params?.at(-1)));
    return commit(steps);
  };
  const deps = { db, clock: () => 1_800_000_000_000, log: pino({ level: 'silent' }) };
  const recorder = openFailureRecorder(deps);
  const recorded = async (count: number) => {
    await until(`${count} failures are written`, () => written.length >= count);
    assert.equal(written.length, count);
  };
  return { recorder, letGo: () => isOpen.resolve(), recorded, written };
}

test('while the store is slow fifty failures of a client wait, and a thousand in all; what comes on top is dropped', async (t) => {
  const { recorder, letGo, recorded, written } = await slowRecorder(t);
  const fail = (client_id: string, address = '192.0.2.1') =>
    recorder.record({ client_id, stage: 'token', address }, { code: 'request' });
  for (let place = 0; place < 55; place += 1) fail('cl_failing', `198.51.100.${place}`);
  for (let client = 0; client < 1500; client += 1) fail(`cl_${client}`);
  letGo();
  await recorded(1000);
  await setImmediate(); // the last one leaves the queue after it was written
  fail('cl_later');
  await recorded(1001);
  assert.deepEqual(written, [
    ...Array(50).fill('cl_failing'),
    ...Array.from({ length: 950 }, (_, client) => `cl_${client}`),
    'cl_later',
  ]);
});

test('of one kind twenty failures a minute are kept from an IPv6 /48, whose addresses do not take the places of others', async (t) => {
  const { recorder, letGo, written } = await slowRecorder(t);
  const fail = (address: string) =>
    recorder.record({ client_id: 'cl_1', stage: 'token', address }, { code: 'request' });
  for (let place = 0; place < 45; place += 1) fail(`2001:db8:1:${place}::1`);
  fail('2001:db8:2::1');
  letGo();
  await recorder.close();
  assert.equal(written.length, 21);
});

onBothEngines('what was kept before failures were counted stays, and counts as one', async (t, engine) => {
  const { db } = await databaseBefore(t, engine, '0004');
  await plain(db).run(
    `insert into clients (client_id, name, client_type, redirect_uris, allowed_scopes, id_token_signed_response_alg,
                          refresh_retry_window, consent, status, revision, event_id, created_at, updated_at)
     values ('cl_x', 'App', 'public', '[]', '[]', 'EdDSA', 0, 'skip', 'approved', 1, 'evt_x', 1, 1)`,
  );
  await plain(db).run(
    `insert into client_failures (failure_id, client_id, at, stage, code, detail)
     values ('fail_old', 'cl_x', 7, 'token', 'request', '{"description":"x"}')`,
  );
  assert.ok((await migrate(db, 0)).includes('0004-failures-counted'));
  const place = { client_id: 'cl_x', stage: 'token', code: 'request', detail: null };
  for (const at of [8, 9]) await plain(db).batch([countFailure({ ...place, failure_id: 'fail_new', at })]);
  const rows = await failuresOf(db, 'cl_x');
  assert.deepEqual(
    rows.map(({ failure_id, at, last_at, count }) => [failure_id, at, last_at, count]),
    [
      ['fail_new', 8, 9, 2],
      ['fail_old', 7, 7, 1],
    ],
  );
});
