import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { newBrowser } from '../support/browser.ts';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { freePort } from '../support/free-port.ts';
import {
  bareSettings,
  isRunning,
  runProcess,
  signetCommand,
  startServer,
  workerPids,
} from '../support/server-process.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };

/** Before it listens, so it needs no process of its own. */
async function refusedStart(t: TestContext, changes: Record<string, string>, prepare?: (dataDir: string) => unknown) {
  const settings = { ...(await bareSettings(t)), ...changes };
  await prepare?.(settings.SIGNET_DATA_DIR ?? '');
  const refusal = await runCommand(['serve'], { env: settings });
  assert.equal(refusal.code, 1);
  assert.equal(refusal.stdout, '');
  assert.match(refusal.stderr, /^signet: [^\n]+\n$/, 'one sentence, no stack');
  return refusal.stderr;
}

test('a first start makes a private store and says where to go; each one prints a link until there is an administrator', async (t) => {
  const settings = await bareSettings(t);
  const server = await startServer(t, settings);
  const dataDir = settings.SIGNET_DATA_DIR ?? '';
  assert.equal(await modeOf(dataDir), '700');
  for (const file of ['master.key', 'signet.db', 'signet.db-wal', 'signet.db-shm']) {
    assert.equal(await modeOf(join(dataDir, file)), '600', file);
  }
  assert.equal(Buffer.from(await readFile(join(dataDir, 'master.key'), 'utf8'), 'base64').length, 32);
  assert.match(server.said.stdout, new RegExp(`ready at ${server.url}\n`));
  assert.match(server.said.stdout, /SQLite in /);
  const discovery = await newBrowser(server.url).get('/.well-known/openid-configuration');
  assert.equal(discovery.json?.issuer, server.url);

  const [link] = /\/invite\/inv_\S+/.exec(server.said.stdout) ?? [];
  await server.stop();
  const [another] = /\/invite\/inv_\S+/.exec((await startServer(t, settings)).said.stdout) ?? [];
  assert.ok(link && another && link !== another);
});

test('the link that a first start prints makes one administrator, once, and is in no log', async (t) => {
  const settings = { ...(await bareSettings(t)), SIGNET_LOG_LEVEL: 'trace' };
  const server = await startServer(t, settings);
  const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
  const path = new URL(link).pathname;
  const browser = newBrowser(server.url);
  assert.equal((await browser.get(path)).status, 200);
  const accepted = await browser.post(path, account);
  assert.equal(accepted.status, 303, accepted.text);
  assert.equal(accepted.location, '/admin');
  assert.equal((await browser.get('/admin')).status, 200);

  const late = newBrowser(server.url);
  const spent = await late.get(path, { accept: 'text/html' });
  assert.equal(spent.status, 400);
  assert.match(spent.text, /id="way-back" href="\/signin"/);
  assert.equal((await late.post(path, { ...account, email: 'second@example.com' })).status, 400);
  const { users } = await succeed(['users', 'list'], settings);
  assert.deepEqual(
    (users as Record<string, string>[]).map(({ email, role }) => [email, role]),
    [['first@example.com', 'admin']],
  );

  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  assert.doesNotMatch(stderr, /inv_/);
  assert.doesNotMatch(stderr, new RegExp(account.password));
  assert.doesNotMatch((await startServer(t, settings)).said.stdout, /invite|administrator/);
});

test('another master key than the first does not start, and changes nothing', async (t) => {
  const settings = await bareSettings(t);
  await succeed(['migrate'], settings);
  const other = Buffer.alloc(32, 1).toString('base64');
  const refusal = await runCommand(['serve'], { env: { ...settings, SIGNET_MASTER_KEY: other } });
  assert.equal(refusal.code, 1);
  assert.match(refusal.stderr, /^signet: The master key does not match this database\.[^\n]+\n$/);
  assert.ok(!refusal.stderr.includes(other));
  assert.deepEqual((await succeed(['users', 'list'], settings)).users, []);
});

test('a key file that others can read does not start', async (t) => {
  const sentence = await refusedStart(t, {}, async (dataDir) => {
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, 'master.key'), Buffer.alloc(32, 1).toString('base64'));
    await chmod(join(dataDir, 'master.key'), 0o640);
  });
  assert.match(sentence, /can be read by other users.*chmod 600/);
});

test('a malformed key file does not start and is not quoted', async (t) => {
  const sentence = await refusedStart(t, {}, async (dataDir) => {
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, 'master.key'), 'notakey', { mode: 0o600 });
  });
  assert.match(sentence, /master\.key must be 32 random bytes/);
  assert.doesNotMatch(sentence, /notakey/);
});

test('a key file of the operator that is not there is not made', async (t) => {
  const SIGNET_MASTER_KEY_FILE = join((await bareSettings(t)).SIGNET_DATA_DIR ?? '', 'nowhere.key');
  assert.match(
    await refusedStart(t, { SIGNET_MASTER_KEY_FILE }),
    /^signet: SIGNET_MASTER_KEY_FILE names a file that does not exist\. Nothing was changed/,
  );
});

test('a setting that Signet does not know stops the start', async (t) => {
  const env = { ...(await bareSettings(t)), SIGNET_DATABSE_URL: 'postgres://x' };
  const { code, stdout, stderr } = await runProcess(['serve'], { env });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^signet: [^\n]+did you mean SIGNET_DATABASE_URL[^\n]+\n$/);
});

test('the command hands over its arguments, its streams and its exit code', async (t) => {
  const env = await preparedSettings(t);
  const name = 'Åsa "Öberg" $HOME';
  const create = ['users', 'create', '--email', account.email, '--name', name, '--password-stdin', '--json'];
  const made = await runProcess(create, { env, input: `${account.password}\n` });
  assert.deepEqual([made.code, made.stderr, JSON.parse(made.stdout).name], [0, '', name]);
  const again = await runProcess(create, { env, input: account.password });
  assert.deepEqual([again.code, JSON.parse(again.stdout).error], [1, 'invalid_state']);
});

test('a data folder that cannot be made is named', async (t) => {
  assert.match(await refusedStart(t, { SIGNET_DATA_DIR: '/dev/null/signet' }), /\/dev\/null\/signet/);
});

test('a command refuses a PostgreSQL that is not there with a sentence without the password in its address', async (t) => {
  const url = `postgres://signet:verysecret@127.0.0.1:${await freePort()}/signet`;
  const key = Buffer.alloc(32, 1).toString('base64');
  const env = { ...(await bareSettings(t)), SIGNET_DATABASE_URL: url, SIGNET_MASTER_KEY: key };
  const { code, stderr } = await runCommand(['users', 'list'], { env });
  assert.equal(code, 1);
  assert.match(stderr, /^signet: [^\n]*PostgreSQL[^\n]+\n$/);
  assert.doesNotMatch(stderr, /verysecret/);
});

test('a start waits for a PostgreSQL that is away, and says so', async (t) => {
  const settings = await bareSettings(t, 'postgres');
  const network = await tcpProxy(t, settings.SIGNET_DATABASE_URL ?? '');
  await network.cut();
  let said = '';
  const server = startServer(t, { ...settings, SIGNET_DATABASE_URL: network.url }, { hear: (text) => (said += text) });
  await until('it says so', () => said.includes('PostgreSQL is not available yet; retrying'));
  assert.match(said, /ECONNREFUSED/);
  assert.doesNotMatch(said, /postgres:\/\/|\n +at /);
  await network.mend();
  assert.equal((await (await server).stop()).code, 0);
});

test('a PostgreSQL that is lost at any moment of a start is waited for', async (t) => {
  for (const statement of [
    'insert into server_heartbeat',
    'insert into issuing_runs',
    'not exists (select 1 from users where',
  ]) {
    const settings = await bareSettings(t, 'postgres');
    const network = await tcpProxy(t, settings.SIGNET_DATABASE_URL ?? '');
    let losses = 0;
    network.refuse((bytes) => {
      const isLost = losses < 2 && bytes.includes(statement);
      if (isLost) losses += 1;
      return isLost;
    });
    const server = await startServer(t, { ...settings, SIGNET_DATABASE_URL: network.url });
    assert.equal(losses, 2, statement);
    assert.match(server.said.stdout, /There is no administrator yet/, statement);
    assert.equal((await server.stop()).code, 0);
  }
});

test('workers whose first connections fail try again, and the start goes on', async (t) => {
  const settings = await bareSettings(t, 'postgres');
  const network = await tcpProxy(t, settings.SIGNET_DATABASE_URL ?? '');
  let supervisor: string | undefined;
  let refusals = 0;
  network.refuse((bytes) => {
    const [, run_id] = /application_name\0signet (\S+)\0/.exec(bytes.toString('latin1')) ?? [];
    supervisor ??= run_id;
    if (run_id === undefined || run_id === supervisor || refusals === 2) return false;
    refusals += 1;
    return true;
  });
  const server = await startServer(t, { ...settings, SIGNET_DATABASE_URL: network.url, SIGNET_WORKERS: '2' });
  assert.equal(refusals, 2);
  assert.match(server.said.stderr, /PostgreSQL is not available yet; retrying/);
  assert.doesNotMatch(server.said.stderr, /a worker died/);
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
});

test('SIGTERM ends a start whose workers do not listen yet', async (t) => {
  const settings = await bareSettings(t);
  const env = { PATH: process.env.PATH, ...settings, SIGNET_WORKERS: '2' };
  const supervisor = spawn(signetCommand, ['serve'], { env, stdio: 'ignore' });
  t.after(() => supervisor.kill('SIGKILL'));
  const exited = once(supervisor, 'exit');
  const pid = supervisor.pid ?? 0;
  const database = join(settings.SIGNET_DATA_DIR ?? '', 'signet.db'); // before it there are children of the shell
  await until('the workers start', () => existsSync(database) && workerPids({ pid }).length > 0);
  const workers = workerPids({ pid });
  supervisor.kill('SIGTERM');
  // Not by the default for signals, which the first process of a container does not have.
  assert.deepEqual(await exited, [0, null]);
  await until('the workers end', () => !workers.some(isRunning));
});

test('a wrong password for PostgreSQL ends the start at once', async (t) => {
  const settings = await bareSettings(t, 'postgres');
  const wrong = new URL(settings.SIGNET_DATABASE_URL ?? '');
  wrong.password = 'verysecret';
  const sentence = await refusedStart(t, { ...settings, SIGNET_DATABASE_URL: wrong.href });
  assert.match(sentence, /PostgreSQL refused the connection.*password/);
  assert.doesNotMatch(sentence, /verysecret/);
});

for (const workers of ['1', '2']) {
  test(`a port in use is said, with ${workers} worker(s)`, async (t) => {
    const settings = await bareSettings(t);
    const other = createServer().listen(Number(settings.SIGNET_PORT), 'localhost');
    t.after(() => other.close());
    await once(other, 'listening');
    const refusal = await runProcess(['serve'], { env: { ...settings, SIGNET_WORKERS: workers } });
    assert.equal(refusal.code, 1);
    assert.match(refusal.stderr, /Another server already listens on \S+ port \d+\. Stop it, or set SIGNET_PORT\./);
    assert.doesNotMatch(refusal.stdout, /ready/);
  });

  test(`SIGTERM lets a request under way finish, with ${workers} worker(s)`, async (t) => {
    const server = await startServer(t, { ...(await bareSettings(t)), SIGNET_WORKERS: workers });
    const body = new URLSearchParams({ username: 'nobody@example.com', password: account.password }).toString();
    const socket = connect({ host: 'localhost', port: Number(server.env.SIGNET_PORT) });
    const answer = text(socket);
    const head = [
      'POST /signin HTTP/1.1',
      `Host: localhost:${server.env.SIGNET_PORT}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue', // answered once the request is under way
    ];
    const underWay = new Promise((resolve) => socket.once('data', resolve));
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await underWay;
    const stopped = server.stop('SIGTERM');
    await refusesConnections(server.url);
    socket.write(body);
    assert.match(await answer, /HTTP\/1\.1 401 /);
    const { code, signal } = await stopped;
    assert.deepEqual([code, signal], [0, null]);
  });
}

/**
 * Resolves when nothing listens any more. A connection that comes while the last worker closes may be left unanswered by
 * `node:cluster` until the supervisor goes, so each attempt has an end.
 */
const refusesConnections = (url: string) =>
  until('nothing listens any more', async () => {
    const init = { headers: { connection: 'close' }, signal: AbortSignal.timeout(1000) };
    return fetch(`${url}/.well-known/jwks.json`, init).then(
      () => false,
      () => true,
    );
  });

test('a server that no request waits for returns the memory that its start has used', async (t) => {
  const says = `const { gc } = globalThis; globalThis.gc = (how) => { gc(how); console.error('collected ' + how.flavor); };`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(says)}`;
  const server = await startServer(t, { ...(await bareSettings(t)), NODE_OPTIONS });
  await until('it collects', () => server.said.stderr.includes('collected last-resort'));
});

test('the command works from any folder and through links to it', async (t) => {
  const settings = await bareSettings(t);
  const folder = dirname(settings.SIGNET_DATA_DIR ?? '');
  await symlink(signetCommand, join(folder, 'direct'));
  await symlink('direct', join(folder, 'a link with spaces'));
  const command = join(folder, 'a link with spaces');
  assert.equal((await runProcess(['--version'], { command, cwd: '/' })).stdout, '0.1.0\n');
  const server = await startServer(t, settings, { command, cwd: folder });
  assert.equal((await server.stop('SIGINT')).code, 0);
});

/** The libraries that `package.json` names, and `fetch`, which Node loads with its first use. */
function librariesIn(stderr: string): string[] {
  const [, loaded = ''] = /^loaded: (.*)$/m.exec(stderr) ?? [];
  return loaded.split(' ').filter((name) => name in packageJson.dependencies || name === 'fetch');
}

test('a library that few processes use is loaded when one does, not at every start', async (t) => {
  const preload = new URL('../support/loaded-packages.ts', import.meta.url).href;
  const settings = { ...(await bareSettings(t)), NODE_OPTIONS: `--import=${preload}` };
  const program = join(import.meta.dirname, '../../src/cli/main.ts'); // not the one file that a clone has of it
  const server = await startServer(t, settings, { program });
  const started = await server.stop();
  const early = librariesIn(started.stderr).filter((name) => name !== 'typebox'); // that is loaded a moment after the start
  assert.deepEqual(early, ['@fastify/cookie', 'fastify', 'find-my-way', 'intl-messageformat', 'ipaddr.js', 'pino']);
  const traces = { ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const traced = await (await startServer(t, traces, { program })).stop();
  assert.deepEqual(
    librariesIn(traced.stderr).filter((name) => name.startsWith('@opentelemetry/')),
    Object.keys(packageJson.dependencies).filter((name) => name.startsWith('@opentelemetry/')),
  );
  const listed = await runProcess(['users', 'list'], { env: traces, program });
  assert.deepEqual(librariesIn(listed.stderr), ['intl-messageformat', 'ipaddr.js', 'pino']);
  const asked = await runProcess(['--version'], { env: settings, program });
  assert.deepEqual(librariesIn(asked.stderr), []);
});
