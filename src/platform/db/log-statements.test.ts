import assert from 'node:assert/strict';
import pino from 'pino';
import { freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { logStatements } from './log-statements.ts';
import { sql } from './sql.ts';

type Line = { level: number; msg: string; sql: string[]; ms: number; failed?: string };

onBothEngines('statements are logged with their duration and without their values', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const lines: Line[] = [];
  const log = pino({ base: undefined }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let at = 0;
  logStatements(db, { log, monotonic: () => (at += 1.5) });
  const secret = 'a value that no log may have';

  assert.equal(await db.holds(sql`${secret} = ${secret}`), true);
  const changed = await db.change({
    require: { isTrue: sql`${secret} = ${secret}` },
    run: {
      one: sql`update users
                  set name = ${secret} where user_id = ${secret}`,
    },
  });
  assert.equal(changed.ok, true);
  await assert.rejects(db.run(sql`update missing_table set name = ${secret}`));

  const [read, change, failure] = lines;
  assert.deepEqual([read?.msg, read?.ms, read?.level], ['sql read', 1.5, 30]);
  assert.match(read?.sql[0] ?? '', /^select case when .* = .* then 1/);
  assert.deepEqual([change?.msg, change?.sql.length], ['sql change', 2]);
  assert.match(change?.sql[1] ?? '', /^update users set name = \$1 where user_id = \$2$/);
  assert.ok(failure?.failed, 'a failure is logged as one');
  assert.equal(lines.length, 3);
  assert.ok(!JSON.stringify(lines).includes(secret));
});
