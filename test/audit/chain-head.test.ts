import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditEvent } from '../../src/audit/audit.ts';
import { AuditLogTampered, sealAuditLog, verifyAuditLog } from '../../src/audit/chain.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

const now = 1_800_000_000;
async function addEvents(deps: Deps, count: number, at = now): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const { statement } = auditEvent({ action: 'user.changed', actor: 'cli', target: `t${number}` }, at);
    await plain(deps.db).run(statement.sql, statement.params);
  }
}
const unseal = "update audit_log set reason = 'nothing to see', seq = null, seal = null where seq > 3";

testSignet('events that were altered and lost their place are not sealed anew', async ({ signet }) => {
  await addEvents(signet.deps, 6);
  await sealAuditLog(signet.deps);
  await plain(signet.deps.db).run(unseal);
  await assert.rejects(sealAuditLog(signet.deps), AuditLogTampered);
  const { broken, verified } = await verifyAuditLog(signet.deps);
  assert.deepEqual([broken, verified], [{ seq: 4, why: 'missing' }, 3]);
});

testSignet('taking the record of the head away, or putting an older one back, does not help', async ({ signet, t }) => {
  await addEvents(signet.deps, 4);
  await sealAuditLog(signet.deps);
  const older = await plain(signet.deps.db).get<{ seq: number; sealed: string }>('select seq, sealed from audit_heads');
  await addEvents(signet.deps, 3);
  await sealAuditLog(signet.deps);
  await verifyAuditLog(signet.deps);
  await plain(signet.deps.db).run('update audit_heads set seq = $1, sealed = $2', [older!.seq, older!.sealed]);
  await plain(signet.deps.db).run('update audit_log set seq = null, seal = null where seq > 4');
  await assert.rejects(sealAuditLog(signet.deps), AuditLogTampered, 'this process has seen a newer one');

  await plain(signet.deps.db).run('delete from audit_heads');
  const another = await startSignet(t, { beside: signet });
  await assert.rejects(sealAuditLog(another.deps), AuditLogTampered, 'a chain without its head');
  assert.deepEqual((await verifyAuditLog(another.deps)).broken, { seq: 4, why: 'head' });

  await plain(signet.deps.db).run(`insert into audit_heads (name, seq, sealed) values ('head', 4, 'forged')`);
  await assert.rejects(sealAuditLog(another.deps), AuditLogTampered);
});

testSignet(
  'an event that claims to be from long ago is sealed last, logged, and named by the check',
  async ({ signet }) => {
    await addEvents(signet.deps, 2);
    await sealAuditLog(signet.deps);
    assert.deepEqual((await verifyAuditLog(signet.deps)).set_back, { times: 0, last_seq: null });
    await addEvents(signet.deps, 1, now - 601);
    await addEvents(signet.deps, 1, now - 599);
    await signet.deps.auditLog.seal();
    await addEvents(signet.deps, 1, now);
    await signet.deps.auditLog.seal();
    const report = await verifyAuditLog(signet.deps);
    assert.deepEqual([report.verified, report.unsealed, report.broken], [5, 0, undefined]);
    assert.deepEqual(report.set_back, { times: 1, last_seq: 3 });
    const logged = signet.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
    assert.deepEqual(
      logged.map(({ seq, dated }) => [seq, Date.parse(dated) / 1000]),
      [[3, now - 601]],
    );
  },
);

test('a node whose clock is ahead does not block the others', async (t) => {
  const signet = await startSignet(t);
  await addEvents(signet.deps, 1);
  const ahead = { ...signet.deps, clock: () => signet.clock() + 3_600_000 };
  await addEvents(ahead, 1, now + 3600);
  assert.equal(await sealAuditLog(ahead), 2);
  await addEvents(signet.deps, 3);
  assert.equal(await sealAuditLog(signet.deps), 3);
  const { broken, unsealed } = await verifyAuditLog(signet.deps);
  assert.deepEqual([broken, unsealed], [undefined, 0]);
});

test('the result of an earlier check is compared, and the checkpoint is published once an hour', async (t) => {
  const signet = await startSignet(t);
  await addEvents(signet.deps, 3);
  await sealAuditLog(signet.deps);
  const { head } = await verifyAuditLog(signet.deps);
  await addEvents(signet.deps, 2);
  await sealAuditLog(signet.deps);
  assert.equal((await verifyAuditLog(signet.deps, head)).broken, undefined);
  const other = await verifyAuditLog(signet.deps, { seq: 3, seal: 'x'.repeat(43) });
  assert.deepEqual(other.broken, { seq: 3, why: 'unexpected' });
  const later = await verifyAuditLog(signet.deps, { seq: 9, seal: head.seal });
  assert.deepEqual(later.broken, { seq: 6, why: 'missing' });

  const checkpoints = () => signet.logLines.filter((line) => line.includes('audit log checkpoint')).length;
  await signet.deps.auditLog.publishCheckpoint();
  await signet.deps.auditLog.publishCheckpoint();
  assert.equal(checkpoints(), 1);
  signet.clock.advance(3600);
  await signet.deps.auditLog.publishCheckpoint();
  assert.equal(checkpoints(), 2);
});

test('checks that are asked for at once are one', async (t) => {
  const signet = await startSignet(t);
  const check = signet.deps.auditLog.verify();
  assert.equal(signet.deps.auditLog.verify(), check);
  await check;
});

test('a long value is kept as a digest, and a batch of seals is bounded by bytes', async (t) => {
  const signet = await startSignet(t);
  const long = auditEvent(
    { action: 'user.changed', actor: 'cli', target: 'x', after: { uris: 'u'.repeat(40_000), name: 'n' } },
    now,
  );
  await plain(signet.deps.db).batch([long.statement]);
  const row = await plain(signet.deps.db).get<{ after_state: string }>(
    "select after_state from audit_log where target = 'x'",
  );
  const { uris, name } = JSON.parse(row?.after_state ?? '');
  assert.deepEqual([name, uris.bytes, uris.sha256.length], ['n', 40_002, 43]);

  await addEvents(signet.deps, 6);
  await plain(signet.deps.db).run("update audit_log set after_state = $1 where target <> 'x'", [
    JSON.stringify('y'.repeat(100_000)),
  ]);
  const sizes: number[] = [];
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    if (!sql[0]?.startsWith('select')) sizes.push(sql.length);
  });
  assert.equal(await sealAuditLog(signet.deps), 7);
  stop();
  assert.ok(sizes.length >= 3 && sizes.every((size) => size <= 4), String(sizes));
});
