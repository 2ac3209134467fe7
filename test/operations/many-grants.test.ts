import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { applyBulkRevocations } from '../../src/oauth/grants/grants.ts';
import { databaseFile } from '../../src/platform/db/open.ts';
import { sliceRows } from '../../src/platform/db/slices.ts';
import { afterTest } from '../support/after-test.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { watchChanges } from '../support/store-spy.ts';

/** Two hundred slices: no more are needed to see that requests are answered between them. `npm run bench:size` has a million. */
const manyGrants = 100_000;

/** On the disk: with their indexes they take 60 MB, for which memory may have no room. */
async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signet-many-'));
  afterTest(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** In a thread: the server of this process goes on, and closes no connection for want of time. */
async function fill(folder: string, client_id: string): Promise<void> {
  const workerData = { file: join(folder, databaseFile), client_id, count: manyGrants };
  await once(new Worker(new URL('../support/copy-grants.ts', import.meta.url), { workerData }), 'exit');
}

const sum = (of: readonly { changes: number }[]) => of.reduce((total, { changes }) => total + changes, 0);

async function countRevoked({ deps }: Signet): Promise<number> {
  const revoked = 'select count(*) as n from grants where revoked_at is not null';
  return Number((await plain(deps.db).get<{ n: number }>(revoked))?.n);
}

test('a client with a hundred thousand grants is suspended by a few rows, and requests are answered between the slices of the others', async (t) => {
  const folder = await newFolder(t);
  const signet = await startSignet(t, { engine: 'sqlite', env: { SIGNET_DATA_DIR: folder } });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const beside = await signet.registerClient();
  const user = await signet.signedInUser();
  const held = await user.obtainTokens(client);
  const other = await user.obtainTokens(beside);
  await fill(folder, client.client_id);
  assert.equal((await signet.userinfo(held.access_token)).status, 200);
  const { changed } = watchChanges(signet.deps.db);
  const decide = (deed: string, body: unknown) =>
    administrator.browser.postJson(`/v1/admin/clients/${client.client_id}/${deed}`, body);
  const assertDead = async () => {
    assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
    assert.deepEqual((await client.introspect(held.refresh_token)).json, { active: false });
    assertRefused(await client.refresh(held.refresh_token), 400, 'invalid_grant');
  };

  assert.equal((await decide('suspend', { reason: 'It leaked its secret.' })).status, 200);
  assert.ok(sum(changed) < 10, JSON.stringify(changed));
  assert.equal(await countRevoked(signet), 0);
  assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
  assert.equal((await decide('reinstate', {})).status, 200);
  await assertDead();
  const anew = await user.obtainTokens(client);

  let longest = 0;
  /** Until it has written some slices, and is stopped, as by a restart. @returns the rows it has written. */
  const writeSome = async () => {
    const stopping = new AbortController();
    changed.length = 0;
    const slices = () => changed.filter(({ sql }) => sql.startsWith('update grants'));
    const writing = applyBulkRevocations(signet.deps, stopping.signal);
    while (slices().length < 20) {
      const before = slices().length;
      assert.equal((await signet.newBrowser().get('/.well-known/jwks.json')).status, 200);
      longest = Math.max(longest, slices().length - before);
    }
    stopping.abort();
    assert.equal(await writing, false);
    assert.ok(slices().every(({ changes }) => changes <= sliceRows));
    return sum(slices());
  };
  const written = await writeSome();
  assert.ok(written > 0);
  assert.equal(await countRevoked(signet), written);
  await assertDead();
  const more = await writeSome();
  assert.equal(await countRevoked(signet), written + more, 'it goes on where it stopped');
  assert.ok(longest <= 5, `the key set waited for ${longest} slices`);
  await assertDead();
  assert.equal((await signet.userinfo(anew.access_token)).status, 200);
  assert.equal(tokensOf(await beside.refresh(other.refresh_token)).token_type, 'Bearer');
});
