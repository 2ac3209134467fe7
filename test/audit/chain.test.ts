import assert from 'node:assert/strict';
import { runJobs } from '../../src/app/jobs.ts';
import { auditEvent } from '../../src/audit/audit.ts';
import { sealAuditLog, verifyAuditLog } from '../../src/audit/chain.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import type { OneDb } from '../../src/platform/db/db.ts';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

async function addEvents(deps: Pick<Deps, 'db'>, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const { statement } = auditEvent({ action: 'user.changed', actor: 'cli', target: `t${number}` }, 1_800_000_000);
    await plain(deps.db).run(statement.sql, statement.params);
  }
}

testSignet('what happened is sealed into one chain, and the chain proves it', async ({ signet }) => {
  const { user_id } = await signet.signedInUser();
  const db = signet.deps.db.of(user_id) as OneDb;
  const chain = { ...signet.deps, db, witness: signet.deps.witness.of(db.schema) };
  await sealAuditLog(chain);
  const first = await verifyAuditLog(chain);
  assert.ok(first.verified >= 2);
  assert.deepEqual([first.broken, first.unsealed], [undefined, 0]);
  await addEvents(chain, 3);
  assert.equal((await verifyAuditLog(chain)).unsealed, 3);
  assert.equal(await sealAuditLog(chain), 3);
  const second = await verifyAuditLog(chain);
  assert.deepEqual([second.verified, second.unsealed], [first.verified + 3, 0]);
  assert.notEqual(second.head.seal, first.head.seal);
});

testSignet('nodes that seal at the same moment make one chain without gap or fork', async ({ signet, t }) => {
  const beside = await startSignet(t, { beside: signet });
  await sealAuditLog(signet.deps);
  const before = (await verifyAuditLog(signet.deps)).verified;
  const rounds = 20; // in each, both nodes are after the same events
  for (let round = 0; round < rounds; round += 1) {
    const both = [signet.deps, beside.deps];
    await Promise.all(both.map((deps) => addEvents(deps, 2)));
    await Promise.all(both.flatMap((deps) => [sealAuditLog(deps), sealAuditLog(deps)]));
  }
  await sealAuditLog(signet.deps);
  const report = await verifyAuditLog(beside.deps);
  assert.deepEqual([report.verified, report.unsealed, report.broken], [before + rounds * 4, 0, undefined]);
});

testSignet('of a backlog a reader waits for a part, and the job seals the rest', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  await sealAuditLog(signet.deps);
  await addEvents(signet.deps, 450);
  const unsealed = async () => (await verifyAuditLog(signet.deps)).unsealed;
  const newest = async () => {
    const answer = await administrator.browser.get('/v1/admin/audit?limit=1');
    const [event] = (answer.json?.events ?? []) as { target: string }[];
    return event?.target ?? assert.fail(answer.text);
  };
  assert.match(await newest(), /^t\d+$/);
  assert.equal(await unsealed(), 450 - 200);
  assert.match(await newest(), /^t\d+$/);
  assert.equal(await unsealed(), 450 - 400);
  await runJobs(signet.deps, ['seal the audit log']);
  assert.equal(await unsealed(), 0);
});

testSignet('a node that stops leaves the rest of a backlog to the next', async ({ signet }) => {
  await addEvents(signet.deps, 450);
  const stopping = new AbortController();
  const restore = beforeEachCall(signet.deps.db, ([first]) => {
    if (first?.startsWith('update audit_log')) stopping.abort();
  });
  await runJobs(signet.deps, ['seal the audit log'], undefined, stopping.signal);
  assert.equal((await verifyAuditLog(signet.deps)).verified, 50, 'the batch that it was at');
  restore();
  await signet.deps.auditLog.seal();
  const { unsealed, broken } = await verifyAuditLog(signet.deps);
  assert.deepEqual([unsealed, broken], [0, undefined]);
});

const rowAt = async (db: OneDb, seq: number): Promise<Record<string, string | number | null>> => {
  const row = await plain(db).get<Record<string, string | number | null>>('select * from audit_log where seq = $1', [
    seq,
  ]);
  return { ...(row ?? assert.fail('no such event')) };
};

onBothEngines('every column of an event is sealed: one that is altered breaks the chain there', async (t, engine) => {
  const { deps } = await startSignet(t, { engine });
  await addEvents(deps, 2);
  const full = {
    ...({ action: 'session.ended', actor: 'cli', target: 's_1', reason: 'Asked for.', address: '192.0.2.1' } as const),
    ...{ before: { plan: 'free' }, after: { user_id: 'usr_1' } },
  };
  // The full one third, the one with nothing but what every event has fourth.
  for (const [place, event] of [full, { action: 'user.enabled', actor: 'cli' } as const].entries()) {
    await plain(deps.db).batch([auditEvent(event, 1_800_000_001 + place).statement]);
  }
  await sealAuditLog(deps);
  for (const seq of [3, 4]) {
    const row = await rowAt(deps.db, seq);
    // Whatever columns the table has: one that is added later is sealed as well, or is none of the event's.
    const { seq: _, seal: __, ...event } = row;
    assert.equal(Object.values(event).includes(null), seq === 4);
    assert.ok(Object.keys(event).length >= 9);
    for (const [column, value] of Object.entries(event)) {
      const forged = typeof value === 'number' ? value + 1 : value === null ? '' : `${value} `;
      await plain(deps.db).run(`update audit_log set ${column} = $1 where seq = $2`, [forged, seq]);
      const { broken, verified } = await verifyAuditLog(deps);
      assert.deepEqual([broken, verified], [{ seq, why: 'altered' }, seq - 1], `${column} of event ${seq}`);
      await plain(deps.db).run(`update audit_log set ${column} = $1 where seq = $2`, [value, seq]);
    }
  }
  assert.equal((await verifyAuditLog(deps)).broken, undefined);
});

const tamperings = {
  'an event that was taken out': 'delete from audit_log where seq = 3',
  'an event that was taken out, and the rest moved up':
    'delete from audit_log where seq = 3; update audit_log set seq = -seq where seq > 3; update audit_log set seq = -seq - 1 where seq < 0',
  'two events that changed places':
    'update audit_log set seq = -3 where seq = 3; update audit_log set seq = 3 where seq = 4; update audit_log set seq = 4 where seq = -3',
};

for (const [what, sql] of Object.entries(tamperings)) {
  testSignet(`${what} breaks the chain there`, async ({ signet }) => {
    await addEvents(signet.deps, 6);
    await sealAuditLog(signet.deps);
    assert.equal((await verifyAuditLog(signet.deps)).broken, undefined);
    for (const statement of sql.split('; ')) await plain(signet.deps.db).run(statement);
    const { broken, verified } = await verifyAuditLog(signet.deps);
    assert.equal(broken?.seq, 3);
    assert.equal(verified, 2);
  });
}
