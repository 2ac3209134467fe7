/**
 * A day in the life of an operator, as the documentation has it, with the one file that `npm run build:executable` makes and
 * nothing beside it: in empty folders, by a user who can write nowhere else where the machine allows that. Each command is run as
 * its page prints it, with the paths of these folders.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { ask as askPlainly } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { operatorsDay } from '../support/operators-day.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { startEmptyPostgres } from '../support/postgres-server.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type ServerProcess, type Settings, startServer } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { hasNginx, startNginx } from './proxies.ts';

const root = join(import.meta.dirname, '../..');
const PATH =
  process.env.PATH?.split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':') ?? '';
/** Of the user `signet`, whom only root can become. */
const uid = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0 ? 10_001 : undefined;

before(() => {
  execFileSync('npm', ['run', 'build:executable'], { cwd: root, stdio: 'ignore' });
});

const toRun = new Map(operatorsDay.flatMap(({ page, commands }) => commands.map((command) => [command, page])));
const ran = new Set<string>();
let days = 0;
after(() => {
  if (days === 2) assert.deepEqual([...ran].sort(), [...toRun.keys()].sort(), 'each command of the list was run');
});

type Machine = {
  home: string;
  /** Where a path of the documentation is. */
  at(path: string): string;
  configure(settings: Settings): void;
  /** Runs a command of the list. @returns what it printed. */
  asPrinted(command: string, code?: number): string;
  signet(command: string, code?: number): string;
  /** As a certificate would be that its machine trusts. */
  trust(certificate: string): void;
  /** The server, in the background. */
  serve(): Promise<ServerProcess>;
};

/** A machine with empty folders at `/etc/signet`, `/var/backups` and so on, and the file in `/usr/local/bin`. */
async function newMachine(t: TestContext, port: number, operatorPort?: number): Promise<Machine> {
  const folder = await scratchFolder('day');
  afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  chmodSync(folder, 0o755);
  const at = (path: string) => join(folder, path);
  const own = (path: string) => uid !== undefined && chownSync(path, uid, uid);
  for (const path of ['/usr/local/bin', '/etc/signet', '/as-user']) mkdirSync(at(path), { recursive: true });
  for (const path of ['/var/lib/signet', '/var/backups/signet']) {
    mkdirSync(at(path), { recursive: true });
    chmodSync(at(path), 0o700);
    own(at(path));
  }
  const drop = uid === undefined ? '' : `setpriv --reuid=${uid} --regid=${uid} --clear-groups `;
  writeFileSync(at('/as-user/signet'), `#!/bin/sh\nexec ${drop}${at('/usr/local/bin/signet')} "$@"\n`, { mode: 0o755 });
  const home = at('/var/lib/signet');
  const env: Settings = { PATH: `${at('/as-user')}:${PATH}`, HOME: home, SIGNET_PORT: String(port) };

  function run(command: string, code = 0): string {
    const here = command.replaceAll(/(?<![\w.])\/(?:etc|var|usr)\/[\w./-]+/g, at);
    const { status, stdout, stderr } = spawnSync('sh', ['-c', here], { cwd: root, env, encoding: 'utf8' });
    assert.equal(status, code, `${command}: ${stderr}${stdout}`);
    for (const [key] of command.matchAll(/\/etc\/signet\/[\w-]+\.key/g)) own(at(key)); // the `chown` beside it
    return stdout + stderr;
  }
  return {
    home,
    at,
    configure(settings) {
      const path = join(home, '.config/signet/signet.env');
      mkdirSync(join(home, '.config/signet'), { recursive: true });
      const lines = Object.entries({ SIGNET_DRAIN_SECONDS: '0', ...settings }).map((pair) => `${pair.join('=')}\n`);
      writeFileSync(path, lines.join(''), { mode: 0o644 });
    },
    asPrinted(command, code) {
      const page = readFileSync(join(root, 'docs', toRun.get(command) ?? assert.fail(command)), 'utf8');
      const lines = page.split('\n').map((line) => line.trim());
      assert.ok(lines.includes(command), `${toRun.get(command)} does not print: ${command}`);
      ran.add(command);
      return run(command.replace('127.0.0.1:9100', `127.0.0.1:${operatorPort}`), code);
    },
    trust(certificate) {
      chmodSync(certificate, 0o644);
      env.NODE_EXTRA_CA_CERTS = certificate;
    },
    signet: (command, code) => run(`signet ${command}`, code),
    serve() {
      ran.add('signet serve');
      return startServer(t, env, { command: at('/as-user/signet'), cwd: home });
    },
  };
}

const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };

test('install, first start, proxy, metrics, doctor, backup, kill, restore, upgrade and rekey on SQLite', async (t) => {
  const [port, operatorPort] = [await freePort(), await freePort()];
  const machine = await newMachine(t, port, operatorPort);
  const { at, asPrinted, configure, signet, serve, home } = machine;
  const site = at('/nginx');
  mkdirSync(site, { recursive: true });
  const proxy = hasNginx() ? await startNginx(t, site, port) : undefined;
  if (proxy) machine.trust(proxy.certificate);
  else t.diagnostic('without a proxy: nginx is not installed');
  const base = proxy?.base ?? `http://localhost:${port}`;
  const settings: Settings = {
    SIGNET_PORT: String(port),
    SIGNET_OPERATOR_PORT: String(operatorPort),
    SIGNET_DATA_DIR: join(home, 'data'),
    ...proxy?.settings,
  };
  const send = async (path: string, cookie: string, form?: Settings) => {
    const body = form && new URLSearchParams(form).toString();
    const headers = { cookie, origin: base, 'content-type': 'application/x-www-form-urlencoded' };
    const method = body === undefined ? 'GET' : 'POST';
    if (proxy) return proxy.ask(path, { method, headers }, body);
    const { status, text, headers: said } = await askPlainly(base + path, { method, headers, body });
    return { status, body: text, headers: { ...said, 'set-cookie': [said.get('set-cookie') ?? ''] } };
  };
  const isSignedIn = async (cookie: string) => (await send('/account', cookie)).status === 200;
  const signIn = async () => {
    const answer = await send('/signin', '', { username: account.email, password: account.password });
    assert.equal(answer.status, 303, answer.body);
    return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  };

  // Install and first start.
  const install = 'install -m 0755 dist/signet /usr/local/bin/signet';
  const place = () => {
    for (const page of ['install.md', 'upgrade.md'])
      assert.ok(readFileSync(join(root, 'docs', page), 'utf8').includes(`    ${install}\n`), page);
    execFileSync('sh', ['-c', install.replace('/usr/', `${at('/usr')}/`)], { cwd: root });
  };
  place();
  configure(settings);
  let server = await serve();
  const [, invitation = ''] = /http\S+(\/invite\/\S+)/.exec(server.said.stdout) ?? [];
  assert.equal((await send(invitation, '', account)).status, 303);
  if (uid !== undefined) assert.equal(statSync(join(home, 'data/signet.db')).uid, uid);

  // Metrics, health, doctor.
  assert.match(asPrinted('curl http://127.0.0.1:9100/metrics'), /^signet_store_up 1$/m);
  assert.equal(asPrinted('signet healthcheck'), 'Ready.\n');
  asPrinted('signet doctor');
  const examined = signet('doctor --deep --json');
  const { checks } = JSON.parse(examined) as { checks: { check: string; state: string; found: string }[] };
  const notWell = checks.filter(({ state, check }) => !['ok', 'skipped'].includes(state) && check !== 'disk');
  assert.deepEqual(
    notWell.map(({ check }) => check),
    proxy ? ['mail'] : [], // none is configured
  );

  // Backup, and a kill.
  asPrinted('signet backup /var/backups/signet/monday.db');
  const cookie = await signIn();
  await server.stop('SIGKILL');
  server = await serve();
  assert.ok(await isSignedIn(cookie), 'a kill signs nobody out');

  // Restore.
  signet(`users invite late@example.com`);
  assert.equal((await server.stop()).code, 0);
  asPrinted('signet restore /var/backups/signet/monday.db --force --reason "the disk broke"');
  server = await serve();
  assert.ok(!(await isSignedIn(cookie)), 'a restore ends sessions');
  assert.doesNotMatch(signet('invitations list'), /late@example\.com/);
  const next = await signIn();

  // Upgrade: the file is replaced while it runs. And back, with what was changed since lost.
  asPrinted('signet doctor');
  asPrinted('signet backup /var/backups/signet/before-upgrade.db');
  place();
  await server.stop();
  server = await serve();
  assert.equal(asPrinted('signet --version'), '0.1.0\n');
  asPrinted('signet healthcheck');
  assert.ok(await isSignedIn(next), 'an upgrade signs nobody out');
  await server.stop();
  asPrinted('signet restore /var/backups/signet/before-upgrade.db --force --reason "back to the version before"');

  // Another master key.
  asPrinted('(umask 077 && openssl rand -base64 32 > /etc/signet/master-2027.key)');
  const newKey = { ...settings, SIGNET_MASTER_KEY_FILE: at('/etc/signet/master-2027.key') };
  configure({ ...newKey, SIGNET_OTHER_MASTER_KEY_FILE: join(home, 'data/master.key') });
  server = await serve();
  const last = await signIn();
  asPrinted('signet rekey');
  await server.stop();
  configure(newKey);
  rmSync(join(home, 'data/master.key'));
  server = await serve();
  assert.ok(await isSignedIn(last), 'another key signs nobody out');
  assert.match(asPrinted('signet keys list'), /active/);
  asPrinted('signet keys rotate', 1); // the next one is not old enough, and it says so
  assert.equal((await server.stop()).code, 0);
  days += 1;
});

test('PostgreSQL as its page has it: two nodes, a lost standby, a restore by its own tools', async (t) => {
  const page = readFileSync(join(root, 'docs/postgresql.md'), 'utf8');
  const postgres = await startEmptyPostgres({}); // its defaults will do
  afterTest(t, () => postgres.stop());
  const password = 'a long random text';
  const [, statements = ''] = /```sql\n([\s\S]*?)```/.exec(page) ?? [];
  assert.match(statements, new RegExp(password));
  const run = (sql: string) => asAdmin(postgres.url, (client) => client.query(sql));
  for (const statement of statements.trim().split('\n')) await run(statement);

  const machine = await newMachine(t, await freePort());
  machine.asPrinted('(umask 077 && openssl rand -base64 32 > /etc/signet/master.key)');
  const key = machine.at('/etc/signet/master.key');
  const url = new URL(postgres.url);
  const port = await freePort();
  cpSync(join(root, 'dist/signet'), machine.at('/usr/local/bin/signet'));
  const other = await newMachine(t, port);
  cpSync(join(root, 'dist/signet'), other.at('/usr/local/bin/signet'));
  cpSync(key, other.at('/etc/signet/master.key'));
  if (uid !== undefined) chownSync(other.at('/etc/signet/master.key'), uid, uid);
  const values: Settings = {
    SIGNET_DATABASE_URL: `postgres://signet:${encodeURIComponent(password)}@${url.host}/signet`,
    SIGNET_BASE_URL: `http://localhost:${port}`,
    SIGNET_HOST: 'localhost',
  };
  const [, written = ''] = /```text\n([\s\S]*?)```/.exec(page) ?? [];
  const names = [...written.matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
  assert.ok(names.length > 3 && Object.keys(values).every((name) => names.includes(name)), written);
  for (const node of [machine, other]) {
    const own = { SIGNET_MASTER_KEY_FILE: node.at('/etc/signet/master.key'), SIGNET_DATA_DIR: join(node.home, 'data') };
    node.configure({ ...values, ...own });
  }
  const [one, two] = await Promise.all([machine.serve(), other.serve()]);
  machine.signet('users create --email anna@example.com --name Anna --password-stdin < /dev/null', 1);
  machine.signet('users invite before@example.com');
  assert.match(other.signet('invitations list'), /before@example\.com/);
  assert.doesNotMatch(machine.signet('doctor'), /^ {2}problem +(?:store|master key|signing keys)/m);

  // A copy of now is what a standby that lags, or a backup, would have.
  const sealed = () => /No events are sealed yet|Not sealed/.test(machine.signet('audit verify')) === false;
  await until('the server seals them', sealed);
  const swap = async (from: string, to: string) => {
    await run(`alter database signet rename to ${to}`);
    await run(`alter database ${from} rename to signet`);
  };
  await Promise.all([one.stop(), two.stop()]);
  await run('create database standby template signet');
  await run('create database backup template signet');
  const again = await machine.serve();
  machine.signet('users invite after@example.com');
  await until('the server seals them', sealed);
  await again.stop();

  // The standby takes over.
  await swap('standby', 'lost_primary');
  const promoted = await machine.serve();
  machine.signet('audit verify', 1);
  machine.asPrinted('signet audit accept-loss --reason "the primary was lost"');
  machine.signet('audit verify');
  assert.match(machine.signet('invitations list'), /before@example\.com/);
  await promoted.stop();

  // A restore, which ends what may have ended.
  await swap('backup', 'broken');
  machine.asPrinted('signet restore --after-copy --reason "the disk broke"');
  const restored = await machine.serve();
  assert.doesNotMatch(machine.signet('invitations list'), /before@example\.com/);
  machine.signet('audit verify');
  assert.equal((await restored.stop()).code, 0);
  days += 1;
});

test('on a read-only disk a node starts and is not in use, serves what needs no writing, and goes on by itself', async (t) => {
  const port = await freePort();
  const machine = await newMachine(t, port);
  cpSync(join(root, 'dist/signet'), machine.at('/usr/local/bin/signet'));
  const alone = machine.at('/as-user/alone');
  const readOnly = `mount --bind ${machine.home} ${machine.home} && mount -o remount,bind,ro ${machine.home}`;
  const inside = `${readOnly} && exec ${machine.at('/as-user/signet')} "$@"`;
  writeFileSync(alone, `#!/bin/sh\nexec unshare --mount sh -c '${inside}' signet "$@"\n`, { mode: 0o755 });
  if (spawnSync(alone, ['--version']).status !== 0) return t.skip('this machine forbids mounts');
  machine.signet('migrate');
  const env = { PATH, HOME: machine.home, SIGNET_PORT: String(port) };
  const server = await startServer(t, env, { command: alone });
  const ready = async () => {
    const { status, text } = await askPlainly(`${server.url}/readyz`);
    return { status, reasons: JSON.parse(text).reasons as string[] | undefined };
  };
  assert.deepEqual(await ready(), { status: 503, reasons: ['disk'] });
  assert.equal((await askPlainly(`${server.url}/.well-known/jwks.json`)).status, 200);
  execFileSync('nsenter', [`--target=${server.pid}`, '--mount', 'mount', '-o', 'remount,bind,rw', machine.home]);
  await until('it is ready again', async () => (await ready()).status === 200);
  assert.equal((await server.stop()).code, 0);
});
