import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { bareSettings } from '../support/server-process.ts';

test('a first-party client is edited and gets other secrets from the command line', async (t) => {
  const env = await preparedSettings(t);
  const made = await succeed(
    ['clients', 'create', '--name', 'Desk', '--redirect-uri', 'https://desk.test/cb', '--approve'],
    env,
  );
  const id = String(made.client_id);
  const edit = ['clients', 'edit', id, '--redirect-uri', 'https://desk.test/cb https://desk.test/cb2'];
  const waiting = await succeed(edit, env);
  assert.deepEqual(waiting.redirect_uris, ['https://desk.test/cb']);
  const approved = await succeed([...edit, '--name', 'Desk 2', '--approve'], env);
  assert.deepEqual(
    [approved.redirect_uris, approved.name, approved.pending_change],
    [['https://desk.test/cb', 'https://desk.test/cb2'], 'Desk 2', null],
  );
  const added = await succeed(['clients', 'secrets', 'add', id], env);
  assert.match(String(added.client_secret), /^cs_/);
  const { secrets } = await succeed(['clients', 'secrets', 'list', id], env);
  const first = (secrets as { secret_id: string }[]).find(({ secret_id }) => secret_id !== added.secret_id);
  await succeed(['clients', 'secrets', 'retire', id, String(first?.secret_id)], env);
  const left = await succeed(['clients', 'secrets', 'list', id], env);
  assert.deepEqual(
    (left.secrets as { secret_id: string; expires_at: unknown }[]).map((one) => [one.secret_id, one.expires_at]),
    [[added.secret_id, null]],
  );
  assert.equal((await runCommand(['clients', 'edit', id], { env })).code, 2);
});

test('rotating keys that cannot be rotated yet is a failure', async (t) => {
  const env = await preparedSettings(t);
  const { code, stdout } = await runCommand(['keys', 'rotate', '--json'], { env });
  assert.deepEqual([code, JSON.parse(stdout).rotated], [1, []]);
});

test('a folder without a database is refused by what is about a database, and left empty', async (t) => {
  const env = await bareSettings(t);
  for (const command of [
    ['users', 'list'],
    ['clients', 'list'],
    ['audit', 'verify'],
    ['keys', 'rotate'],
    ['admin', 'invite'],
    ['clients', 'create', '--name', 'A', '--redirect-uri', 'https://a.test/cb'],
  ]) {
    const { code, stderr } = await runCommand(command, { env });
    assert.equal(code, 1, command.join(' '));
    assert.match(stderr, /There is no database in .*signet serve.*signet migrate.*SIGNET_DATA_DIR/);
  }
  const dataDir = String(env.SIGNET_DATA_DIR);
  assert.equal(existsSync(join(dataDir, 'signet.db')), false);
  assert.equal((await runCommand(['users', 'list', '--help'], { env })).code, 0);
});

test('a data folder that cannot be made is reported in one sentence', { timeout: 30_000 }, async (t) => {
  const env = { ...(await bareSettings(t)), SIGNET_DATA_DIR: '/proc/nope' };
  const { code, stderr } = await runCommand(['migrate'], { env });
  assert.equal(code, 1);
  assert.match(stderr, /^signet: The .*\/proc\/nope.*\n$/);
});

test('machines read every foreseen failure as JSON', async (t) => {
  const env = await bareSettings(t);
  const failures = {
    usage_error: { args: ['users', 'show'], env, code: 2 },
    configuration_error: { args: ['users', 'list'], env: { ...env, SIGNET_PORT: 'x' }, code: 1 },
    store_unavailable: {
      args: ['users', 'list'],
      env: { ...env, SIGNET_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x', SIGNET_MASTER_KEY: `${'A'.repeat(43)}=` },
      code: 1,
    },
  };
  for (const [error, { args, env, code }] of Object.entries(failures)) {
    const finished = await runCommand([...args, '--json'], { env });
    assert.equal(finished.code, code, finished.stderr);
    const { error: said, error_description } = JSON.parse(finished.stdout) as Record<string, string>;
    assert.deepEqual([said, finished.stderr], [error, '']);
    assert.ok(error_description);
  }
});
