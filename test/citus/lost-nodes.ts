import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../../src/platform/db/sql.ts';
import { until } from '../support/until.ts';
import { addressOf, type Cluster, freshCluster, processOf, signetOn, skip } from './cluster.ts';
import { keepAsking, peopleAt, refresh, signedInPeople } from './people.ts';

const lossMs = 12_000;

for (const way of ['killed', 'frozen'] as const) {
  const name = `a node that is ${way} is noticed by its own users alone, and nobody is signed out by it`;
  test(name, { skip }, async (t) => {
    const cluster: Cluster = await freshCluster(t);
    const signet = await signetOn(t, cluster);
    const people = await signedInPeople(signet, 16);
    const lost = cluster.workers.at(-1)!;
    const [there, elsewhere] = peopleAt(signet, people, addressOf(lost));
    assert.ok(there.length > 2 && elsewhere.length > 2, 'of 16 users, some are on each node');
    const server = await processOf(lost);
    // What is under way when it happens may or may not have been kept.
    let isLost = false;
    const before = keepAsking(signet, people, () => isLost);
    await sleep(1_000);
    if (way === 'killed') await server.kill();
    else server.freeze();
    isLost = true;
    await before;
    try {
      const endsAt = performance.now() + lossMs;
      const isOver = () => performance.now() > endsAt;
      const [ofThere, ofElsewhere] = await Promise.all([
        keepAsking(signet, there, isOver),
        keepAsking(signet, elsewhere, isOver),
      ]);
      t.diagnostic(`${way}: its users ${JSON.stringify(ofThere)}, the others ${JSON.stringify(ofElsewhere)}`);
      assert.equal(ofElsewhere[503], 0, 'the others notice nothing');
      assert.equal(ofThere[200], 0, 'its own users are told to come back');
      const refused = await there[0]!.client.refresh(there[0]!.tokens.refresh_token);
      assert.equal(refused.json?.error, 'temporarily_unavailable');
      await assert.rejects(
        signet.deps.db.shared.run(sql`update clients set updated_at = updated_at`),
        (error: Error) => error.name === 'StoreUnavailable' && error.message.includes(`follow: ${addressOf(lost)}.`),
        'what all nodes have is not changed meanwhile',
      );
    } finally {
      if (way === 'killed') await server.restart();
      else server.thaw();
    }
    for (const person of people) {
      await until('a repetition is answered', async () => (await refresh(person)).status === 200);
      assert.equal((await signet.userinfo(person.tokens.access_token)).status, 200);
    }
    await until('what all nodes have is changed again', () =>
      signet.deps.db.shared.run(sql`update clients set updated_at = updated_at`).then(
        () => true,
        () => false,
      ),
    );
  });
}

test('while the coordinator is away, people sign in and refresh', { skip }, async (t) => {
  const cluster = await freshCluster(t);
  const signet = await signetOn(t, cluster);
  const people = await signedInPeople(signet, 16);
  const coordinator = await processOf(cluster.url);
  await coordinator.kill();
  try {
    const endsAt = performance.now() + lossMs;
    const counts = await keepAsking(signet, people, () => performance.now() > endsAt);
    t.diagnostic(JSON.stringify(counts));
    assert.equal(counts[503], 0);
    for (const { user, client } of people) {
      const again = await user.signedInElsewhere();
      assert.ok((await again.obtainTokens(client, { scope: 'openid offline_access' })).refresh_token);
    }
  } finally {
    await coordinator.restart();
  }
  for (const person of people) assert.equal((await refresh(person)).status, 200);
});
