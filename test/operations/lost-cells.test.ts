import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../bench/processor-time.ts';
import { addServer, moveCellTo } from '../../src/app/cells.ts';
import { afterTest } from '../support/after-test.ts';
import type { Answer } from '../support/browser.ts';
import { type PostgresServer, startEmptyPostgres } from '../support/postgres-server.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { clockStart } from '../support/store-template.ts';

const settings = {
  wal_level: 'logical',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  autovacuum: 'off',
};

/** A store on two servers, of which the second has the cells `c2` and `c3`. */
async function onTwo(t: TestContext): Promise<{ signet: Signet; second: PostgresServer }> {
  const [first, second] = await Promise.all([startEmptyPostgres(settings), startEmptyPostgres(settings)]);
  afterTest(t, async () => void (await Promise.all([first, second].map((server) => server.stop()))));
  const dataDir = await scratchFolder('cells');
  afterTest(t, () => rm(dataDir, { recursive: true, force: true }));
  const env = { SIGNET_CELLS: 'c0 c1 c2 c3', SIGNET_CELL_SERVERS: `b=${second.url}` };
  const signet = await startSignet(t, { on: { url: first.url, dataDir, at: clockStart / 1000 }, env });
  const { config } = signet.deps;
  const now = () => signet.clock() / 1000;
  await addServer(config, 'b', now());
  for (const cell of ['c2', 'c3']) {
    await moveCellTo(config, cell, 'b', { now, monotonic: () => performance.now(), onProgress: () => {} });
  }
  return { signet, second };
}

/** As a machine that answers nothing and closes no connection. @returns what ends it. */
function freeze({ pid }: PostgresServer): () => void {
  const all = [pid, ...childrenOf(pid)];
  for (const one of all) process.kill(one, 'SIGSTOP');
  return () => {
    for (const one of all.toReversed()) process.kill(one, 'SIGCONT');
  };
}

/** Once the connections to a server are there again. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  if (answer.status !== 503) return answer;
  await sleep(100);
  return answered(ask);
}

test('a server that is frozen is noticed by its own users alone, and not one is signed out by it', async (t) => {
  const { signet, second } = await onTwo(t);
  assert.match(readFileSync(`/proc/${second.pid}/comm`, 'utf8'), /postgres/);
  const client = await signet.registerClient();
  const people = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const user = await signet.signedInUser();
      const tokens = await user.obtainTokens(client, { scope: 'openid offline_access' });
      return { user, tokens, isThere: signet.deps.db.parts.indexOf(signet.deps.db.of(user.user_id) as never) > 2 };
    }),
  );
  const [there, here] = [people.filter((one) => one.isThere), people.filter((one) => !one.isThere)];
  assert.ok(there.length > 0 && here.length > 0, 'of 12 users, some are on each server');
  const thaw = freeze(second);
  try {
    const refused = there.map(async ({ tokens }) => (await client.refresh(tokens.refresh_token)).status);
    for (const one of here) {
      const answer = await client.refresh(one.tokens.refresh_token);
      assert.equal(answer.status, 200, answer.text);
      one.tokens = answer.json as typeof one.tokens;
      assert.equal((await signet.userinfo(one.tokens.access_token)).status, 200);
    }
    const answers = await Promise.all(refused);
    assert.deepEqual(
      answers,
      answers.map(() => 503),
    );
  } finally {
    thaw();
  }
  for (const { tokens } of there) {
    const again = await answered(() => client.refresh(tokens.refresh_token));
    assert.equal(again.status, 200, `a repetition is answered: ${again.text}`);
  }
});
