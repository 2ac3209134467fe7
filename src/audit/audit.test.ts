import assert from 'node:assert/strict';
import { freshDatabase, onBothEngines } from '../../test/support/databases.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { AuditAction } from './actions.ts';
import { auditEvent } from './audit.ts';
import { searchUnsealed } from './store.ts';

const now = 1_800_000_000;

onBothEngines('an event is kept as it happened', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const { event_id, statement } = auditEvent(
    {
      action: 'user.changed',
      actor: 'cli',
      target: 'th_1',
      reason: 'Ärger',
      before: { a: 1 },
      after: { a: [2] },
      address: '::1',
    },
    now,
  );
  await db.change({
    run: { event: statement, other: auditEvent({ action: 'session.started', actor: 'system' }, now).statement },
  });
  const [row] = await searchUnsealed(db, { target: 'th_1' }, 10);
  assert.deepEqual(
    { ...row },
    {
      event_id,
      at: now,
      action: 'user.changed',
      actor: 'cli',
      target: 'th_1',
      reason: 'Ärger',
      before_state: '{"a":1}',
      after_state: '{"a":[2]}',
      address: '::1',
    },
  );
});

onBothEngines('an event whose change was not made is not kept', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const isNamed = (name: string) => sql`exists (select 1 from users where user_id = ${'usr_1'} and name = ${name})`;
  const eventOf = (action: AuditAction, onlyIf: Sql) =>
    auditEvent({ action, actor: 'system', target: 'x', onlyIf }, now).statement;
  await db.of('usr_1').change({
    run: {
      user: sql`insert into users (user_id, email, email_key, role, created_at, updated_at, name)
                values ('usr_1', 'a@b.test', 'a@b.test', 'user', 1, 1, 'Ada')`,
      made: eventOf('user.changed', isNamed('Ada')),
      lost: eventOf('user.deleted', isNamed('Eve')),
    },
  });
  assert.deepEqual(
    (await searchUnsealed(db.of('usr_1'), { target: 'x' }, 10)).map(({ action }) => action),
    ['user.changed'],
  );
});
