import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { bareSettings, runProcess, type Settings } from '../support/server-process.ts';

const script = join(import.meta.dirname, '../../scripts/dev-seed.ts');
const seed = (env: Settings) => runProcess([script], { env, command: process.execPath });

onBothEngines('npm run dev:seed fills a store with clients and users in every state, once', async (t, engine) => {
  const env = await bareSettings(t, engine);
  const { code, stdout, stderr } = await seed(env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Seeded\. Sign in at http:\/\/localhost:\d+\/signin /);

  const { clients } = (await succeed(['clients', 'list'], env)) as { clients: Record<string, unknown>[] };
  const states = new Set(clients.map(({ status, pending_change }) => (pending_change ? 'changed' : status)));
  assert.deepEqual([...states].sort(), ['approved', 'changed', 'pending_review', 'rejected', 'suspended']);
  const { users } = (await succeed(['users', 'list'], env)) as { users: Record<string, unknown>[] };
  assert.deepEqual(new Set(users.map(({ status }) => status)), new Set(['enabled', 'disabled']));
  assert.equal(((await succeed(['webhooks', 'list'], env)).webhooks as unknown[]).length, 2);

  const again = await seed(env);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /^This store has been seeded before/);
  assert.equal(((await succeed(['users', 'list'], env)).users as unknown[]).length, users.length);
});

test('npm run dev:seed refuses an address that is not on loopback', async (t) => {
  const { code, stderr } = await seed({ ...(await bareSettings(t)), SIGNET_BASE_URL: 'https://id.example.com' });
  assert.equal(code, 1);
  assert.match(stderr, /is not on loopback/);
});
