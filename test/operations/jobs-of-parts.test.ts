import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { runJobs, startJobs } from '../../src/app/jobs.ts';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { now } from '../../src/platform/clock.ts';
import { type OneDb, type Part, StoreUnavailable } from '../../src/platform/db/db.ts';
import { dangerousSkewSeconds } from '../../src/platform/processes.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { until } from '../support/until.ts';

const inCells = (t: TestContext) => startSignet(t, { engine: 'postgres', cells: 4 });

const takeAway = (part: OneDb): (() => void) =>
  beforeEachCall(part, () => {
    throw new StoreUnavailable('This part is away.');
  });

test('while a part is away the events of each other one are sealed every second', async (t) => {
  const { deps } = await inCells(t);
  const [, away] = deps.db.parts;
  const tries = new Map<Part, number>(deps.db.parts.map((part) => [part, 0]));
  let sealing = 0;
  const seal: AuditLog['seal'] = async (signal, parts = deps.db.parts) => {
    for (const part of parts) tries.set(part, tries.get(part)! + 1);
    sealing += 1;
    await deps.auditLog.seal(signal, parts).finally(() => {
      sealing -= 1;
    });
  };
  const bringBack = takeAway(away!);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const stop = startJobs({ ...deps, auditLog: { ...deps.auditLog, seal } });
  for (let second = 0; second < 59; second += 1) {
    t.mock.timers.tick(1000);
    await until('nothing is being sealed', () => sealing === 0);
    await turn();
  }
  await stop();
  bringBack();
  const [ofShared, ofAway = 0, ...ofOthers] = tries.values();
  assert.deepEqual(new Set([ofShared, ...ofOthers]), new Set([59]));
  assert.ok(ofAway >= 5 && ofAway <= 8, `${ofAway} times`);
});

test('while a part is away all that has expired in the others is deleted, of every table', async (t) => {
  const { deps, logLines } = await inCells(t);
  const [, away, ...others] = deps.db.parts;
  const expired = now(deps) - dangerousSkewSeconds - 1;
  for (const part of others) await plain(part).run(`insert into spent_tokens values ('gone', ${expired})`);
  const bringBack = takeAway(away!);
  assert.equal(await runJobs(deps, ['purge links']), false);
  bringBack();
  for (const part of others) assert.deepEqual(await plain(part).all('select token_hash from spent_tokens'), []);
  const failed = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('job failed'));
  assert.deepEqual(
    failed.map(({ job, reason }) => [job, reason]),
    [['purge links', 'This part is away.']],
  );
});
