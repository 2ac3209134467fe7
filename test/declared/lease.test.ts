import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { applyPlan } from '../../src/declared/apply.ts';
import { leaseApply } from '../../src/declared/lease.ts';
import { makePlan } from '../../src/declared/plan.ts';
import { readFiles } from '../../src/declared/read-files.ts';
import { ConfigError } from '../../src/platform/errors.ts';
import { preparedSettings, refused, succeed } from '../support/command-line.ts';
import { runProcess, type Settings } from '../support/server-process.ts';
import { testSignet } from '../support/signet.ts';
import { startUpstream } from '../support/upstream.ts';

const fileIn = (folder: string, text: string) => {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'signet.yaml');
  writeFileSync(path, `apiVersion: signet/v1\n${text}`);
  return path;
};

const two = 'groups:\n  one: { name: One }\n  two: { name: Two }\n';

testSignet(
  'of applies that begin at once one goes on, and the next when it has ended',
  async ({ signet: { deps } }) => {
    const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => leaseApply(deps, 0)));
    const [held, ...more] = attempts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.ok(held);
    assert.equal(more.length, 0);
    for (const one of attempts) if (one.status === 'rejected') assert.ok(one.reason instanceof ConfigError);
    assert.equal(await held.isHeld(), true);
    await held.end();
    await (await leaseApply(deps, 0)).end();
  },
);

testSignet(
  'an apply that was killed holds others up for half a minute, and one that wakes up stops',
  async ({ signet }) => {
    const { deps, clock } = signet;
    const path = fileIn(join(deps.config.dataDir, 'declared'), two);
    const plan = await makePlan(deps, await readFiles([path]), { prune: false, variable: () => undefined });
    const asleep = await leaseApply(deps, 0);
    const since = new Date(clock()).toISOString().slice(0, 19);
    await assert.rejects(leaseApply(deps, 0), new RegExp(`process ${process.pid}\\) is applying files since ${since}`));
    clock.advance(29);
    await assert.rejects(leaseApply(deps, 0), ConfigError);
    clock.advance(1);
    const other = await leaseApply(deps, 0);
    const woken = await applyPlan(deps, { actor: 'cli' }, plan, asleep);
    assert.deepEqual([woken.done.length, woken.overtaken?.key], [0, 'one']);
    assert.equal((await applyPlan(deps, { actor: 'cli' }, plan, other)).done.length, 2);
    clock.advance(29);
    assert.equal(await other.isHeld(), true, 'each step extends it');
    clock.advance(29);
    await assert.rejects(leaseApply(deps, 0), ConfigError);
    await other.end();
    await asleep.end();
  },
);

test('a second apply says who holds it, waits if it is asked to, and goes on after a kill', async (t) => {
  const upstream = await startUpstream(t, () => 0);
  let asked = () => {};
  const reached = new Promise<void>((resolve) => {
    asked = resolve;
  });
  upstream.lies = { answer: { '/.well-known/openid-configuration': () => asked() } }; // and never answers
  const env: Settings = {
    ...(await preparedSettings(t)),
    ...{ SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1', ACME_SECRET: 'a secret' },
  };
  const folder = String(env.SIGNET_DATA_DIR);
  const provider = `  acme: { label: Acme, issuer: "${upstream.issuer}", client_id: c, secret: { env: ACME_SECRET } }\n`;
  const slow = fileIn(join(folder, 'slow'), `providers:\n${provider}`);
  const quick = fileIn(join(folder, 'quick'), two);
  let pid = 0;
  const first = runProcess(['apply', '-f', slow, '--yes'], {
    env,
    onStart: (id) => {
      pid = id;
    },
  });
  await reached;
  await refused(['apply', '-f', quick], env, new RegExp(`process ${pid}\\) is applying files since 20.+Z`));
  assert.deepEqual((await succeed(['groups', 'list'], env)).groups, []);
  const dry = await succeed(['apply', '-f', quick, '--dry-run'], env);
  assert.equal((dry.changes as unknown[]).length, 2, 'a plan needs no turn');
  process.kill(pid, 'SIGKILL');
  assert.equal((await first).signal, 'SIGKILL');
  await refused(['apply', '-f', quick], env, /its turn is over at 20.+Z/);
  const done = await succeed(['apply', '-f', quick, '--wait', '600'], env);
  assert.equal(done.done, 2);
  assert.equal((await succeed(['apply', '-f', quick], env)).done, 0);
});
