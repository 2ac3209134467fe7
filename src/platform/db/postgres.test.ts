import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/databases.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { asAdmin, databaseUrl } from '../../../test/support/postgres-admin.ts';
import { tcpProxy } from '../../../test/support/tcp-proxy.ts';
import { transactionPooler } from '../../../test/support/transaction-pooler.ts';
import { until } from '../../../test/support/until.ts';
import {
  NotPrimary,
  type OneDb,
  OutcomeUnknown,
  StoreMisconfigured,
  StoreUnavailable,
  storeReason,
  UniqueViolation,
} from './db.ts';
import { openPostgres } from './postgres.ts';
import type { Deadlines } from './postgres-lane.ts';
import { createLanes } from './postgres-lanes.ts';
import { createServers } from './postgres-servers.ts';
import { row, text } from './rows.ts';
import { combinable, sql } from './sql.ts';

async function freshTable(t: TestContext) {
  const { db, url } = await freshDatabase(t, 'postgres', { empty: true });
  assert.ok(url);
  await plain(db).run('create table things (k text primary key, n bigint not null)');
  return { db, url };
}

/** Another store on the same database, closed after the test. */
function opened(t: TestContext, url: string, deadlines?: Partial<Deadlines>): OneDb {
  const db = openPostgres(url, { deadlines, mayLoseCommits: true });
  t.after(() => db.close());
  return db;
}

function withOptions(url: string, options: string): string {
  const changed = new URL(url);
  changed.searchParams.set('options', options);
  return changed.href;
}

const insert = (k: string) => ({ sql: 'insert into things (k, n) values ($1, 0)', params: [k] });
const keys = async (db: OneDb) =>
  (await plain(db).all<{ k: string }>('select k from things order by k')).map(({ k }) => k);

/** Runs `signal` on the server's processes of this database that match; again until there are `count` of them. */
async function signal(url: string, count: number, call: 'pg_cancel_backend' | 'pg_terminate_backend', where: string) {
  await asAdmin(url, async (client) => {
    const matching = `select pid from pg_stat_activity where datname = current_database() and ${where}`;
    await until(`${count} processes with ${where}`, async () => (await client.query(matching)).rows.length >= count);
    await client.query(`select ${call}(pid) from (${matching}) as matching`);
  });
}

/** Asks until there is an answer; all refusals on the way must be StoreUnavailable. */
const recovers = (db: OneDb, ask: () => Promise<unknown> = () => plain(db).get('select 1 as answer')) =>
  until('the store answers again', async () => {
    try {
      await ask();
      return true;
    } catch (error) {
      assert.ok(error instanceof StoreUnavailable, String(error));
      return false;
    }
  });

test('a store is running for as long as one of its connections is open', async (t) => {
  const { db, url } = await freshTable(t);
  const long = [
    'a name of the operator that is longer than it may be in all',
    'Anmeldung für Händler, Käufer, Ämter, Büros',
  ];
  const named = long.map(
    (name) => `${url}${url.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(name)}`,
  );
  for (const address of [url, ...named]) {
    const other = openPostgres(address, { mayLoseCommits: true });
    assert.equal(await db.isRunning(other.run_id), false, 'not connected yet');
    await keys(other);
    assert.equal(await db.isRunning(other.run_id), true);
    await other.close();
    await until('its connections are gone', async () => !(await db.isRunning(other.run_id)));
  }
  const rename = "select set_config('application_name', 'as the pooler has it', false)";
  await plain(db).run(rename);
  await plain(db).all(rename);
  assert.equal(await db.isRunning('another'), true, 'names say nothing when our own is not there');
});

test('connections that the server ends fail what they carry, and are replaced', async (t) => {
  const { db, url } = await freshTable(t);
  const sleepers = Array.from({ length: 3 }, () => plain(db).all('select pg_sleep(60)')); // on one connection, in its pipeline
  const refused = Promise.all(sleepers.map((sleeper) => assert.rejects(sleeper, StoreUnavailable)));
  await signal(url, 1, 'pg_terminate_backend', "query like '%pg_sleep%' and pid <> pg_backend_pid()");
  await refused;
  await recovers(db);
  await plain(db).batch([insert('after')]);
  assert.deepEqual(await keys(db), ['after']);
});

test('of statements that are prepared together, each learns why they are refused', async (t) => {
  const { db } = await freshTable(t);
  const asked = Array.from({ length: 12 }, () => plain(db).get('select n from elsewhere'));
  for (const one of await Promise.allSettled(asked)) {
    assert.ok(one.status === 'rejected' && one.reason instanceof StoreMisconfigured, inspect(one));
    assert.match(inspect(one.reason.cause), /relation "elsewhere" does not exist/);
  }
  await plain(db).run('create table elsewhere (n bigint not null)');
  assert.equal(await plain(db).get('select n from elsewhere'), undefined);
});

test('while the server is away every call is refused at once, and served again when it is back', async (t) => {
  const { url } = await freshTable(t);
  const network = await tcpProxy(t, url);
  const db = opened(t, network.url);
  await Promise.all([plain(db).run(insert('before').sql, ['before']), plain(db).batch([insert('batched')])]);
  await network.cut();
  for (let i = 0; i < 20; i += 1) {
    await assert.rejects(plain(db).get('select 1 as answer'), StoreUnavailable);
    await assert.rejects(plain(db).run(insert('lost').sql, ['lost']), StoreUnavailable);
    await assert.rejects(plain(db).batch([insert('lost')]), StoreUnavailable);
  }
  await network.mend();
  await recovers(db);
  assert.deepEqual(await keys(db), ['batched', 'before']);
});

/** Refused for certain: what was asked for can be asked for again. */
const refusedForCertain = (error: unknown) => error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown);

test('what was on the wire when the connection broke is unknown if it was a change; what was not sent is refused', async (t) => {
  const { db: direct, url } = await freshTable(t);
  const network = await tcpProxy(t, url);
  const db = opened(t, network.url);
  await Promise.all([keys(db), plain(db).run(insert('a').sql, ['a']), plain(db).batch([insert('b')])]);
  network.silence(); // the server gets it, keeps it, and its reply is lost
  const read = assert.rejects(keys(db), refusedForCertain);
  const changes = [plain(db).run(insert('c').sql, ['c']), plain(db).batch([insert('d')])];
  const unknown = changes.map((change) => assert.rejects(change, OutcomeUnknown));
  await until('the server has both', async () => (await keys(direct)).length >= 4);
  await network.cut();
  await Promise.all([read, ...unknown]);
  await assert.rejects(plain(db).run(insert('e').sql, ['e']), refusedForCertain);
  await assert.rejects(plain(db).batch([insert('e')]), refusedForCertain);
  assert.deepEqual(await keys(direct), ['a', 'b', 'c', 'd']);
});

test('a batch that failed before its commit is refused for certain, even if the server went away with it', async (t) => {
  const { db, url } = await freshTable(t);
  const slow = assert.rejects(plain(db).batch([insert('a'), { sql: 'select pg_sleep(60)' }]), refusedForCertain);
  const alone = assert.rejects(plain(db).run("insert into things select 'slow', 0 from pg_sleep(60)"), OutcomeUnknown);
  await signal(url, 2, 'pg_terminate_backend', "query like '%pg_sleep%' and pid <> pg_backend_pid()");
  await Promise.all([slow, alone]);
});

test('a server that never was there is StoreUnavailable', async (t) => {
  const { url } = await freshTable(t);
  const network = await tcpProxy(t, url);
  await network.cut();
  const db = opened(t, network.url);
  const asked = Array.from({ length: 30 }, () => plain(db).run(insert('never sent').sql, ['never sent']));
  for (const question of asked) await assert.rejects(question, refusedForCertain);
  await network.mend();
  await recovers(db);
});

test('a statement past its deadline is StoreUnavailable, and its change is not kept', async (t) => {
  const { db, url } = await freshTable(t);
  const hasty = opened(t, url, { statementMs: 200, replyMs: 60_000 });
  await assert.rejects(plain(hasty).run("insert into things select 'slow', 0 from pg_sleep(60)"), refusedForCertain);
  await assert.rejects(plain(hasty).batch([insert('slow'), { sql: 'select pg_sleep(60)' }]), refusedForCertain);
  assert.deepEqual(await keys(db), []);
});

test('a change that a server may have passed on to another is unknown if it fails, unless the statement was refused', async (t) => {
  const { db, url } = await freshTable(t);
  const deadlines = { statementMs: 200, replyMs: 60_000 };
  const node = openPostgres(url, { deadlines, mayLoseCommits: true, relays: true });
  t.after(() => node.close());
  await plain(node).run(insert('a').sql, ['a']);
  await assert.rejects(plain(node).run("insert into things select 'slow', 0 from pg_sleep(60)"), OutcomeUnknown);
  await assert.rejects(plain(node).run(insert('a').sql, ['a']), UniqueViolation);
  await assert.rejects(plain(node).all('select pg_sleep(60)'), refusedForCertain);
  // What another one has of a transaction goes with it, as long as no commit was sent.
  await assert.rejects(plain(node).batch([insert('b'), { sql: 'select pg_sleep(60)' }]), refusedForCertain);
  assert.deepEqual(await keys(db), ['a']);
});

test('a reply that never comes is StoreUnavailable', async (t) => {
  const { url } = await freshTable(t);
  const network = await tcpProxy(t, url);
  const db = opened(t, network.url, { statementMs: 60_000, replyMs: 300, connectMs: 300 });
  await Promise.all([keys(db), plain(db).run(insert('x').sql, ['x']), plain(db).batch([insert('a')])]);
  network.silence();
  const changes = [plain(db).run(insert('b').sql, ['b']), plain(db).batch([insert('c')])];
  await Promise.all([
    assert.rejects(keys(db), refusedForCertain),
    ...changes.map((one) => assert.rejects(one, OutcomeUnknown)),
  ]);
});

test('a connection that falls silent when it has just been made holds nobody up, and is replaced', async (t) => {
  const { url } = await freshTable(t);
  const network = await tcpProxy(t, url);
  const db = opened(t, network.url, { replyMs: 100, connectMs: 300 });
  network.silenceAfter(readyForQuery);
  const reads = Array.from({ length: 4 }, () => keys(db)); // as many as there are connections for them
  const asked = [...reads, plain(db).run(insert('a').sql, ['a']), plain(db).batch([insert('b'), insert('c')])];
  for (const question of asked) await assert.rejects(question, refusedForCertain);
  network.speak();
  await recovers(db);
  assert.deepEqual(await keys(db), [], 'what was refused is not sent later');
});

/** With it the server ends the handshake. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1');

test('all attempts at a change have one deadline', async (t) => {
  const { db: direct, url } = await freshTable(t);
  await plain(direct).run('create sequence attempts');
  const db = opened(t, url, { replyMs: 250 });
  const race =
    "do $$ begin perform nextval('attempts'), pg_sleep(0.15); raise exception using errcode = '40001'; end $$";
  for (const count of [1, 2]) {
    const change = count === 1 ? plain(db).run(race) : plain(db).batch([{ sql: race }, insert('a')]);
    await assert.rejects(change, StoreUnavailable);
  }
  const { last_value } = (await plain(direct).get<{ last_value: number }>('select last_value from attempts'))!;
  assert.ok(last_value <= 4, `${last_value} attempts at two changes`);
});

test('statements that were refused together and are then sent one by one keep their deadline', async (t) => {
  const { db: direct, url } = await freshTable(t);
  await plain(direct).batch([...'abcd'].map(insert));
  const refusal = "perform pg_sleep(0.15); raise exception 'refused' using errcode = '23514'";
  await plain(direct).run(
    `create function refuse() returns trigger language plpgsql as 'begin ${refusal.replaceAll("'", "''")}; end'`,
  );
  await plain(direct).run(
    'create trigger refusing before update on things for each statement execute function refuse()',
  );
  const db = opened(t, url, { replyMs: 250 });
  const raise = (k: string) => db.run(Key, combinable(sql`update things set n = n + 1 where k = ${k} returning k`, k));
  await Promise.all([...'abcd'].map((k) => assert.rejects(raise(k), StoreUnavailable)));
});
const Key = row('things', { k: text });

test('a commit whose synchronous standby is gone is not acknowledged', async (t) => {
  const { db, url } = await freshTable(t);
  const waiting = opened(t, withOptions(url, '-c synchronous_commit=on'));
  const changes = [plain(waiting).run(insert('single').sql, ['single']), plain(waiting).batch([insert('batch')])];
  const refused = Promise.all(changes.map((change) => assert.rejects(change, OutcomeUnknown)));
  await signal(url, 2, 'pg_cancel_backend', "wait_event = 'SyncRep'");
  await refused;
  // The server did keep them, here, as it finishes after it has warned. It only cannot say that they would survive it.
  await until('it has finished both', async () => (await keys(db)).length >= 2);
  assert.deepEqual(await keys(db), ['batch', 'single']);
  assert.deepEqual(await keys(waiting), ['batch', 'single']);
});

test('when the wait for the standby passes the deadline, the change is not acknowledged', async (t) => {
  const { url } = await freshTable(t);
  const waiting = opened(t, withOptions(url, '-c synchronous_commit=on'), { statementMs: 200, replyMs: 400 });
  await assert.rejects(plain(waiting).run(insert('single').sql, ['single']), StoreUnavailable);
  await assert.rejects(plain(waiting).batch([insert('batch'), insert('of two')]), StoreUnavailable);
  await signal(url, 2, 'pg_terminate_backend', "wait_event = 'SyncRep'");
});

test('commits that wait for a standby cost no more connections than are configured, and no read waits behind them', async (t) => {
  const { db: direct, url } = await freshTable(t);
  const db = opened(t, withOptions(url, '-c synchronous_commit=on'), { statementMs: 200, replyMs: 400 });
  const count = `select count(*) as open, count(*) filter (where wait_event = 'SyncRep') as waiting
                   from pg_stat_activity where datname = current_database() and application_name like '% ' || $1`;
  const backends = async () => (await plain(direct).get<{ open: number; waiting: number }>(count, [db.run_id]))!;
  const change = async (i: number): Promise<'unknown' | 'refused'> => {
    const [single, batch] = await Promise.allSettled([
      plain(db).run(insert(`s${i}`).sql, [`s${i}`]),
      plain(db).batch([insert(`b${i}`)]),
    ]);
    assert.ok(single.status === 'rejected' && batch.status === 'rejected', 'no commit is acknowledged');
    return [single, batch].every(({ reason }) => refusedForCertain(reason)) ? 'refused' : 'unknown';
  };
  // Each unanswered commit gives its connection up. Once the server says why, further changes are refused.
  let outcome: string = 'unknown';
  for (let i = 0; i < 30 && outcome === 'unknown'; i += 1) {
    const asked = Promise.all([change(i * 2), change(i * 2 + 1)]);
    await plain(db).get('select 1 as answer');
    [outcome] = await asked;
    assert.ok((await backends()).open <= 14);
  }
  assert.equal(outcome, 'refused');
  const { waiting } = await backends();
  assert.ok(
    waiting > 0 && waiting < 10,
    `${waiting} wait: refused because the server said why, not for want of connections`,
  );
  await plain(db).get('select 1 as answer');

  await signal(url, waiting, 'pg_cancel_backend', "wait_event = 'SyncRep'");
  let more = 100;
  await until('changes are sent again, when the wait is over', async () => {
    more += 1;
    outcome = await change(more);
    return outcome !== 'refused';
  });
  assert.equal(outcome, 'unknown');
  await signal(url, 1, 'pg_cancel_backend', "wait_event = 'SyncRep'");
});

test('a connection that was given up counts until its backend is known to be gone', async (t) => {
  const { db: direct, url } = await freshTable(t);
  const abandoned = { add: () => {}, hasAnswered: () => {}, waitForStandby: () => false, close: async () => {} };
  const deadlines = { statementMs: 60_000, replyMs: 50, connectMs: 60_000 };
  const size = 2;
  const lanes = createLanes(createServers(url), {
    use: 'changes',
    size,
    abandoned,
    deadlines,
    run_id: 'capped',
    check: async () => {},
    onStandby: () => {},
  });
  t.after(() => lanes.close());
  for (let i = 0; i < 4; i += 1) await assert.rejects(lanes.use((lane) => lane.run({ sql: 'select pg_sleep(60)' })));
  const count = "select count(*) as open from pg_stat_activity where application_name like '% capped'";
  assert.equal((await plain(direct).get<{ open: number }>(count))?.open, size);
});

test('a server that may lose what it has confirmed is refused with a sentence, unless that is meant', async (t) => {
  const { url } = await freshTable(t);
  const careless = openPostgres(withOptions(url, '-c synchronous_commit=off'));
  t.after(() => careless.close());
  const refusal = await plain(careless)
    .get('select 1 as answer')
    .then(
      () => assert.fail('it was accepted'),
      (error: unknown) => error,
    );
  assert.ok(refusal instanceof StoreMisconfigured);
  assert.match(refusal.message, /may lose changes.*synchronous_commit, fsync, full_page_writes off/);
  assert.match(refusal.message, /SIGNET_DATABASE_MAY_LOSE_COMMITS=on/);
  await assert.rejects(plain(careless).batch([insert('a')]), StoreMisconfigured);
  assert.deepEqual(await keys(opened(t, withOptions(url, '-c synchronous_commit=off'))), []);
});

test('a database without every letter is refused with a sentence', async (t) => {
  const { url } = await freshTable(t);
  const maintenance = databaseUrl(url, 'postgres');
  const name = `latin_${randomUUID().slice(-12)}`;
  await asAdmin(maintenance, (client) =>
    client.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0 strategy file_copy`),
  );
  t.after(() => asAdmin(maintenance, (client) => client.query(`drop database ${name} with (force)`)));
  const latin = opened(t, databaseUrl(url, name));
  await assert.rejects(plain(latin).get('select 1'), (error: unknown) => {
    assert.ok(error instanceof StoreMisconfigured, String(error));
    assert.match(error.message, /encoding LATIN1.*create database signet owner signet encoding 'UTF8'/);
    return true;
  });
});

/** A role of its own, which may work on `things`. */
async function withRole(t: TestContext) {
  const { db: owner, url } = await freshTable(t);
  const role = `Role ${randomUUID().slice(-12)}`;
  const own = new URL(url);
  own.username = encodeURIComponent(role);
  own.password = 'long';
  await plain(owner).run(`create role "${role}" login password 'long'`);
  await plain(owner).run(`grant all on things to "${role}"`);
  // What it may do ends with the database, which is dropped before.
  t.after(() => asAdmin(databaseUrl(url, 'postgres'), (client) => client.query(`drop role "${role}"`)));
  return { owner, role, db: opened(t, own.href) };
}

test('a permission that is taken away is refused with a sentence that names the role and what to grant, until it is back', async (t) => {
  const { owner, role, db } = await withRole(t);
  await plain(db).run(insert('a').sql, ['a']);
  await plain(owner).run(`revoke all on things from "${role}"`);
  for (const ask of [
    () => keys(db),
    () => plain(db).run(insert('b').sql, ['b']),
    () => plain(db).batch([insert('b'), insert('c')]),
  ]) {
    await assert.rejects(ask, (error: unknown) => {
      assert.ok(error instanceof StoreMisconfigured, String(error));
      assert.match(
        storeReason(error),
        /The role "Role \S+" lacks a permission.*: grant .* to "Role \S+"; \(.*things.*\)$/,
      );
      return true;
    });
  }
  await plain(owner).run(`grant all on things to "${role}"`);
  assert.deepEqual(await keys(db), ['a']);
});

test('a table that is gone is refused with a sentence, until it is back', async (t) => {
  const { db, url } = await freshTable(t);
  const other = opened(t, url);
  await keys(other);
  for (const [away, back] of [
    ['alter table things rename to gone', 'alter table gone rename to things'],
    ['alter table things rename column k to gone', 'alter table things rename column gone to k'],
  ] as const) {
    await plain(db).run(away);
    for (const ask of [() => keys(other), () => plain(other).batch([insert('b'), insert('c')])]) {
      await assert.rejects(ask, (error: unknown) => {
        assert.ok(error instanceof StoreMisconfigured, String(error));
        assert.match(storeReason(error), /A table or column of Signet is missing.*\(.*does not exist\)$/);
        return true;
      });
    }
    await plain(db).run(back);
    assert.deepEqual(await keys(other), []);
  }
});

test('a database that its operator closes to connections is waited for', async (t) => {
  const { db, url } = await freshTable(t);
  const name = new URL(url).pathname.slice(1);
  await asAdmin(databaseUrl(url, 'postgres'), async (client) => {
    await client.query(`alter database ${name} allow_connections false`);
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await until('it is refused', async () => {
      const [outcome] = await Promise.allSettled([keys(db)]);
      if (outcome.status === 'fulfilled') return false;
      assert.ok(
        refusedForCertain(outcome.reason) && !(outcome.reason instanceof StoreMisconfigured),
        String(outcome.reason),
      );
      return outcome.reason.cause instanceof pg.DatabaseError && outcome.reason.cause.code === '55000';
    });
    await client.query(`alter database ${name} allow_connections true`);
  });
  await recovers(db);
});

test('a pooler that gives each transaction another backend is refused with a sentence', async (t) => {
  const { db, url } = await freshTable(t);
  const pooled = opened(t, await transactionPooler(t, url));
  for (const ask of [() => keys(pooled), () => plain(pooled).batch([insert('a')])]) {
    await assert.rejects(ask, (error: unknown) => {
      assert.ok(error instanceof StoreMisconfigured, String(error));
      assert.match(error.message, /pooler without session pooling.*address of PostgreSQL itself/);
      return true;
    });
  }
  assert.deepEqual(await keys(db), []);
  const { default_transaction_read_only } = (await plain(db).get<{ default_transaction_read_only: string }>(
    'show default_transaction_read_only',
  ))!;
  assert.equal(default_transaction_read_only, 'off');
});

test('a pooler that refuses or ignores what a session begins with is refused with a sentence, also if it keeps sessions', async (t) => {
  const { url } = await freshTable(t);
  for (const settings of ['refused', 'ignored'] as const) {
    const pooled = opened(t, await transactionPooler(t, url, { settings, keepsSessions: true }));
    for (const ask of [() => keys(pooled), () => plain(pooled).run(insert('a').sql, ['a'])]) {
      await assert.rejects(ask, (error: unknown) => {
        assert.ok(error instanceof StoreMisconfigured, String(error));
        assert.match(error.message, /pooler without session pooling.*address of PostgreSQL itself/);
        return true;
      });
    }
  }
});

/** A server of which a row says whether it is a standby, and in which a change is refused as a standby refuses it. */
async function pretender(t: TestContext) {
  const { db: direct, url } = await freshTable(t);
  await plain(direct).run('create table self (is_standby boolean not null)');
  await plain(direct).run('insert into self values (false)');
  await plain(direct).run(
    "create function public.pg_is_in_recovery() returns boolean language sql as 'select is_standby from self'",
  );
  const db = opened(t, withOptions(url, '-c search_path=public,pg_catalog'));
  return {
    db,
    become: (is_standby: boolean) =>
      plain(direct).run('update self set is_standby = $1::text::boolean', [String(is_standby)]),
  };
}
const refusedAsReadOnly = "do $$ begin raise exception 'read-only' using errcode = '25006'; end $$";

test('a server that turns out to be a standby is left by every connection, and used again once it is the primary', async (t) => {
  const { db, become } = await pretender(t);
  await Promise.all([keys(db), plain(db).run(insert('x').sql, ['x']), plain(db).batch([insert('y'), insert('z')])]);
  await become(true);
  await assert.rejects(plain(db).run(refusedAsReadOnly), NotPrimary);
  await assert.rejects(keys(db), NotPrimary, 'what it says may be out of date');
  await assert.rejects(plain(db).batch([insert('a'), insert('b')]), NotPrimary);
  await become(false);
  await recovers(db);
  await recovers(db, () => plain(db).batch([insert('a'), insert('b')]));
});

test('a primary that is read-only for a while is read all the same', async (t) => {
  const { db } = await pretender(t);
  await assert.rejects(
    plain(db).run(refusedAsReadOnly),
    (error) => refusedForCertain(error) && !(error instanceof NotPrimary),
  );
  assert.deepEqual(await keys(db), []);
});

test('statements of a batch that lost its transaction change nothing', async (t) => {
  const { db } = await freshTable(t);
  // A `begin` that fails cannot be arranged; leaving the transaction early puts the next statement in the same place.
  await assert.rejects(plain(db).batch([insert('a'), { sql: 'rollback' }, insert('b')]), StoreUnavailable);
  assert.deepEqual(await keys(db), []);
  await plain(db).batch([insert('c')]);
  assert.deepEqual(await keys(db), ['c']);
});

test('batches that deadlock are retried', async (t) => {
  const { db, url } = await freshTable(t);
  await plain(db).batch([insert('a'), insert('b')]);
  const raise = (k: string) => ({ sql: 'update things set n = n + 1 where k = $1', params: [k] });
  const pause = { sql: 'select pg_sleep(0.02)' }; // long enough to hold one lock each
  const sides = [1, 2].map(() => opened(t, withOptions(url, '-c deadlock_timeout=10ms')));
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([
      plain(sides[0]!).batch([raise('a'), pause, raise('b')]),
      plain(sides[1]!).batch([raise('b'), pause, raise('a')]),
    ]);
  }
  assert.deepEqual(
    (await plain(db).all<{ n: number }>('select n from things')).map(({ n }) => n),
    [10, 10],
  );
});

test('a statement that failed to prepare does not spoil its name', async (t) => {
  const { db } = await freshTable(t);
  const early = () => plain(db).get('select * from later');
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, early));
  const codes = outcomes.map((outcome) => {
    assert.ok(outcome.status === 'rejected' && outcome.reason.cause instanceof pg.DatabaseError);
    return outcome.reason.cause.code;
  });
  assert.ok(codes.includes('42P01'), 'at least the first learns that there is no such table');
  await plain(db).run('create table later (k text)');
  await Promise.all(Array.from({ length: 30 }, early));
});

test('a batch that fails does not spoil the statements of those behind it', async (t) => {
  const { db } = await freshTable(t);
  await plain(db).batch([insert('taken')]);
  const bad = () =>
    plain(db).batch([insert('taken'), { sql: 'update things set n = n + 1 where k = $1', params: ['taken'] }]);
  const good = () => plain(db).batch([{ sql: 'update things set n = n + 1 where k = $1', params: ['taken'] }]);
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => (i % 2 ? good() : bad())));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    Array.from({ length: 40 }, (_, i) => (i % 2 ? 'fulfilled' : 'rejected')),
  );
  assert.equal((await plain(db).get<{ n: number }>('select n from things'))?.n, 20);
});
