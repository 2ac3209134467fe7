import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, open, readdir, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { readConfig } from '../../src/app/config.ts';
import type { Check } from '../../src/app/doctor/check.ts';
import { examine } from '../../src/app/doctor/doctor.ts';
import { preparedSettings, refused, runCommand, succeed } from '../support/command-line.ts';
import { freePort } from '../support/free-port.ts';
import { openServer } from '../support/open-server.ts';
import { plain } from '../support/plain-sql.ts';
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

test('a client that is created without a library has what most software expects, and with one what that needs', async (t) => {
  const env = await preparedSettings(t);
  const create = async (...options: string[]) => {
    const args = ['clients', 'create', '--name', 'Desk', '--redirect-uri', 'https://desk.test/cb', ...options];
    const { id_token_signed_response_alg, claims_in_id_token } = await succeed(args, env);
    return [id_token_signed_response_alg, claims_in_id_token];
  };
  assert.deepEqual(await create(), ['RS256', true]);
  assert.deepEqual(await create('--library', 'other'), ['RS256', true]);
  assert.deepEqual(await create('--library', 'kubelogin'), ['RS256', true]);
  assert.deepEqual(await create('--library', 'openid-client'), ['EdDSA', false]);
  assert.deepEqual(await create('--alg', 'EdDSA', '--claims-in-id-token', 'off'), ['EdDSA', false]);
  await refused(
    ['clients', 'create', '--name', 'D', '--redirect-uri', 'https://d.test/', '--library', 'no'],
    env,
    /library/,
  );
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

test('a data folder that cannot be made is reported in one sentence', async (t) => {
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

test('the doctor says of each problem what to do, changes nothing and prints no secret', async (t) => {
  const env = await preparedSettings(t, 'sqlite'); // with a database and a key in files
  const dataDir = String(env.SIGNET_DATA_DIR);
  const { deps, close } = await openServer(t, env);
  await deps.processes.record();
  await plain(deps.db).run('update server_heartbeat set at = at + 4000');
  await close();
  await chmod(join(dataDir, 'master.key'), 0o640);
  const impostor = createServer((_request, response) => response.end('{"issuer":"http://other.test"}'));
  t.after(() => impostor.close());
  await once(impostor.listen(Number(env.SIGNET_PORT), 'localhost'), 'listening');
  const wrong = {
    ...env,
    SIGNET_TRUST_PROXY: '0.0.0.0/0',
    SIGNET_SMTP_URL: 'smtp://user:verysecret@127.0.0.1:1',
    SIGNET_PROVIDER_ACME_ISSUER: `http://127.0.0.1:${await freePort()}`,
    SIGNET_PROVIDER_ACME_CLIENT_ID: 'signet',
    SIGNET_PROVIDER_ACME_CLIENT_SECRET: 'verysecret',
  };
  const stateOf = async () =>
    Promise.all(
      (await readdir(dataDir)).map(async (name) => {
        const { mode, mtimeMs } = await stat(join(dataDir, name));
        return { name, mode, mtimeMs };
      }),
    );
  const before = await stateOf();
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { env: wrong });
  assert.deepEqual([code, stderr], [1, '']);
  assert.deepEqual(await stateOf(), before);
  assert.doesNotMatch(stdout, /verysecret/);
  const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: Check[] };
  assert.equal(healthy, false);
  const problems = Object.fromEntries(checks.flatMap((one) => (one.state === 'problem' ? [[one.check, one]] : [])));
  const expected = {
    files: [/master\.key/, /^Run: chmod 600 \S+$/],
    'master key': [/can be read by other users/, /^Run: chmod 600/],
    clock: [/in the future/, /NTP/],
    server: [/not Signet/, /log/],
    'base URL': [/http:\/\/other\.test/, /SIGNET_BASE_URL/],
    proxy: [/SIGNET_TRUST_PROXY/, /addresses of the proxies/],
    mail: [/ECONNREFUSED/, /SIGNET_SMTP_URL/],
    'provider acme': [/econnrefused/, /issuer/],
  } as const;
  assert.deepEqual(Object.keys(problems).sort(), Object.keys(expected).sort());
  for (const [name, [found, remedy]] of Object.entries(expected)) {
    assert.match(problems[name]?.found ?? '', found);
    assert.match(problems[name]?.remedy ?? '', remedy);
  }

  // A server that takes the connection and says nothing.
  const silent = { ...wrong, SIGNET_SMTP_URL: `smtp://localhost:${env.SIGNET_PORT}` };
  const late = await examine(readConfig(silent), { clock: Date.now, timeoutMs: 500 });
  assert.match(
    late.find(({ check }) => check === 'mail')?.found ?? '',
    /no answer within 0\.5 s|Greeting never received/,
  );
});

test('the doctor finds a damaged page when it reads all of them, and has colors on a terminal', async (t) => {
  const env = await preparedSettings(t, 'sqlite');
  const well = await runCommand(['doctor', '--deep'], { env: { ...env, TERM: 'xterm' }, columns: 80 });
  assert.ok(well.stdout.includes('\n  \u001b[32mok\u001b[0m       database file    Every page'), well.stdout);
  const path = join(String(env.SIGNET_DATA_DIR), 'signet.db');
  const db = new DatabaseSync(path);
  const [index] = db.prepare("select rootpage from sqlite_master where name = 'users_newest'").all();
  db.close();
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(4096, 7), 0, 4096, (Number(index?.rootpage) - 1) * 4096);
  await file.close();
  const { code, stdout } = await runCommand(['doctor', '--deep', '--json'], { env });
  const found = (JSON.parse(stdout).checks as Check[]).find(({ check }) => check === 'database file');
  assert.deepEqual([code, found?.state], [1, 'problem']);
  assert.match(found?.found ?? '', /^The database is damaged: \S/);
  assert.match(found?.remedy ?? '', /keep a copy of signet\.db.*restore/);
  assert.doesNotMatch((await runCommand(['doctor'], { env })).stdout, /database file/);
});

test('the doctor reports settings that cannot be used, and makes no store where there is none', async (t) => {
  const env = await bareSettings(t);
  const malformed = await runCommand(['doctor', '--json'], { env: { ...env, SIGNET_PORT: 'x' } });
  const [check] = JSON.parse(malformed.stdout).checks as Check[];
  assert.deepEqual([malformed.code, check?.check, check?.state], [1, 'settings', 'problem']);
  assert.match(check?.found ?? '', /SIGNET_PORT must be/);
  const { code, stdout } = await runCommand(['doctor'], { env });
  assert.equal(code, 1);
  assert.match(stdout, /\n {2}problem +store +There is no database in.*signet serve/s);
  assert.equal(existsSync(String(env.SIGNET_DATA_DIR)), false);
  const unreadable = await runCommand(['doctor'], { env: { ...env, SIGNET_DATA_DIR: '/dev/null/signet' } });
  assert.match(unreadable.stdout, /The database in \/dev\/null\/signet cannot be read\s+\(ENOTDIR\)/);
});
