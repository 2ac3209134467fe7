import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseFile } from '../../src/platform/db/open.ts';
import type { Answer } from '../support/browser.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

/** Nothing is written until it is let go. */
async function holdWrites(t: TestContext, { deps }: Signet): Promise<() => Promise<void>> {
  if (deps.config.databaseUrl) {
    const counters = deps.db.parts.map(({ schema = 'public' }) => `${schema}.failure_counters`);
    const lock = await openTransaction(t, deps, { sql: `lock table ${counters} in share row exclusive mode` });
    return lock.commit;
  }
  const other = new DatabaseSync(join(deps.config.dataDir, databaseFile));
  other.exec('begin immediate');
  return async () => other.close();
}

testSignet(
  'whoever fills the queue of the store leaves places to others',
  { env: { SIGNET_TRUST_PROXY: '1' } },
  async ({ signet, t }) => {
    const client = await signet.registerClient();
    Object.assign(signet.deps.db, { room: 40 });
    const answers: Answer[] = [];
    const ask = async (address: string) => {
      const answer = await signet.newBrowser().get(client.authorizePath(), { 'x-forwarded-for': address });
      answers.push(answer);
      return answer;
    };
    const letGo = await holdWrites(t, signet);
    const flood = Array.from({ length: 60 }, (_, place) => ask(`2001:db8:1:${place}::1`));
    await until('thirty are refused at once', () => answers.length >= 30);
    for (const answer of answers) {
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
    const others = ['192.0.2.1', '192.0.2.2', '2001:db8:2::1'].map(ask);
    await sleep(20);
    await letGo();
    for (const answer of await Promise.all(others)) assert.equal(answer.status, 302, answer.text);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    assert.ok(statuses.filter((status) => status === 302).length >= 4, 'what was accepted is answered');
    assert.equal((await ask('2001:db8:1:1::1')).status, 302);
  },
);
