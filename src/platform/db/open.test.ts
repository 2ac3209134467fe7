import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { StoreUnavailable } from './db.ts';
import { diskFree, isDiskFull, logStatements, onFullDisk } from './open.ts';
import { sql } from './sql.ts';

test('a start that failed on a full disk says that the disk is full', () => {
  const cause = new Error('disk I/O error');
  const error = new StoreUnavailable('SQLite did not respond.', { cause });
  const problem = onFullDisk(error, '/var/lib/signet', 4096);
  assert.ok(problem instanceof StoreUnavailable && problem.cause === cause);
  assert.match(problem.message, /disk that holds \/var\/lib\/signet is full: 4 KB are free.*Free some space/);
  assert.equal(onFullDisk(error, '/var/lib/signet', 10 ** 9), error, 'another reason');
  assert.equal(onFullDisk(error, '/nowhere/at/all'), error, 'a disk that cannot be asked');
  const other = new Error('ours');
  assert.equal(onFullDisk(other, '/var/lib/signet', 0), other);
});

test('a full disk is noticed where it is ours to see', async () => {
  const isFull = (free: number | undefined, databaseUrl?: string) =>
    isDiskFull({ dataDir: '/var/lib/signet', databaseUrl }, async () => free);
  assert.deepEqual([await isFull(4096), await isFull(10 ** 9), await isFull(undefined)], [true, false, false]);
  assert.equal(await isFull(4096, 'postgres://elsewhere'), false);
  assert.ok(Number(await diskFree('/')) >= 0);
  assert.equal(await diskFree('/nowhere/at/all'), undefined);
});

type Line = { level: number; msg: string; sql: string[]; ms: number; failed?: string };

onBothEngines('statements are logged with their duration and without their values', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const lines: Line[] = [];
  const log = pino({ base: undefined }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let at = 0;
  logStatements(db, { log, monotonic: () => (at += 1.5) });
  const secret = 'a value that no log may have';

  assert.equal(await db.of(secret).holds(sql`${secret} = ${secret}`), true);
  const changed = await db.of(secret).change({
    require: { isTrue: sql`${secret} = ${secret}` },
    run: {
      one: sql`update users
                  set name = ${secret} where user_id = ${secret}`,
    },
  });
  assert.equal(changed.ok, true);
  await assert.rejects(db.of(secret).run(sql`update users set missing_column = ${secret}`));

  const [read, change, failure] = lines;
  assert.deepEqual([read?.msg, read?.ms, read?.level], ['sql read', 1.5, 30]);
  assert.match(read?.sql[0] ?? '', /^select case when .* = .* then 1/);
  assert.deepEqual([change?.msg, change?.sql.length], ['sql change', 2]);
  assert.match(change?.sql[1] ?? '', /^update users set name = \$1 where user_id = \$2$/);
  assert.ok(failure?.failed, 'a failure is logged as one');
  assert.equal(lines.length, 3);
  assert.ok(!JSON.stringify(lines).includes(secret));
});
