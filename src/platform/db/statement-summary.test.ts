import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summaryOf } from './statement-summary.ts';

test('a statement is named for what it does to which table, and a change for all that it does', () => {
  const names = {
    'select a from users where b = $1': 'select users',
    'select case when exists (select 1 from grants) then 1 else 0 end as holds': 'select grants',
    'select 1 as answer': 'select',
    'update grants set a = $1 where b = $2 returning c': 'update grants',
    "insert into users (a) values ($1) on conflict (a) do update set a = 'from secrets'": 'insert users',
    'delete from sessions where a in (select b from users)': 'delete sessions',
    'with found as (select a from users) update grants set a = 1': 'update grants',
    'INSERT\n  INTO audit_log (a)\n  SELECT $1': 'insert audit_log',
  };
  for (const [sql, summary] of Object.entries(names)) assert.equal(summaryOf([{ sql }]).summary, summary, sql);
  assert.deepEqual(summaryOf([{ sql: 'delete from mails' }]), {
    summary: 'delete mails',
    operation: 'delete',
    table: 'mails',
  });
  const steps = [
    { sql: 'select 1 / 0 from users', isRequirement: true },
    { sql: 'update grants set a = 1' },
    { sql: 'update grants set b = 2' },
    { sql: 'insert into audit_log (a) values (1)' },
  ];
  assert.equal(summaryOf(steps).summary, 'update grants, insert audit_log');
  assert.equal(summaryOf(steps.slice(0, 1)).summary, 'select users');
  const many = Array.from({ length: 90 }, (_, index) => ({ sql: `delete from table_${index}` }));
  assert.equal(summaryOf(many).summary.length, 255);
});
