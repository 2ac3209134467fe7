import assert from 'node:assert/strict';
import { freshDatabase, onBothEngines } from '../../test/support/databases.ts';
import { auditEvent } from './audit.ts';
import { auditRowsOf } from './store.ts';

const now = 1_800_000_000;

onBothEngines('an event is kept as it happened', async (t, engine) => {
  const { db } = await freshDatabase(t, engine);
  const { event_id, statement } = auditEvent(
    {
      action: 'thing.changed',
      actor: 'cli',
      target: 'th_1',
      reason: 'Ärger',
      before: { a: 1 },
      after: { a: [2] },
      address: '::1',
    },
    now,
  );
  await db.batch([statement, auditEvent({ action: 'started', actor: 'system' }, now).statement]);
  const [row] = await auditRowsOf(db, 'th_1', 10);
  assert.deepEqual(
    { ...row },
    {
      event_id,
      at: now,
      action: 'thing.changed',
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
  const exists = (id: string) => ({
    sql: 'exists (select 1 from users where user_id = $1 and name = $2)',
    params: ['usr_1', id],
  });
  const made = auditEvent({ action: 'a', actor: 'system', target: 'x', onlyIf: exists }, now);
  const lost = auditEvent({ action: 'b', actor: 'system', target: 'x', onlyIf: exists }, now);
  const plain = auditEvent(
    { action: 'c', actor: 'system', target: 'x', onlyIf: { sql: '$2 = $1', params: ['1', '2'] } },
    now,
  );
  await db.batch([
    {
      sql: `insert into users (user_id, email, email_key, role, created_at, updated_at, name)
              values ('usr_1', 'a@b.test', 'a@b.test', 'user', 1, 1, $1)`,
      params: [made.event_id],
    },
    made.statement,
    lost.statement,
    plain.statement,
  ]);
  assert.deepEqual(
    (await auditRowsOf(db, 'x', 10)).map(({ action }) => action),
    ['a'],
  );
});
