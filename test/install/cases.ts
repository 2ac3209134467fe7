/**
 * `npm run test:install`: every way to install Signet, from nothing, in empty folders with another home. What the machine
 * cannot do is skipped, and said.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { makeDistribution } from '../../scripts/build.ts';
import { afterTest } from '../support/after-test.ts';
import { newBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { RegisteredClient } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import {
  codeFor,
  redeemAt,
  registerByHttp,
  runProcess,
  type Settings,
  startServer,
} from '../support/server-process.ts';
import { openCollector } from '../support/trace-collector.ts';
import { hasCaddy, hasNginx, startCaddy, startNginx, unrecommendedCiphers } from './proxies.ts';

const root = join(import.meta.dirname, '../..');
const tarball = join(root, 'signet-0.1.0.tgz');
/** Without what `npm run` puts before it: the project's own Node among other things. */
const PATH =
  process.env.PATH?.split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':') ?? '';

before(() => {
  execFileSync('npm', ['run', 'build:executable'], { cwd: root, stdio: 'ignore' });
  execFileSync('npm', ['pack', './dist'], { cwd: root, stdio: 'ignore' });
});

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await scratchFolder('install');
  afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
}

/** Someone becomes the first administrator, an app is registered, and a command sees it. */
async function works(t: TestContext, command: string, settings: Settings): Promise<void> {
  const env = { PATH, NODE_COMPILE_CACHE: '', SIGNET_PORT: String(await freePort()), ...settings };
  assert.equal((await runProcess(['--version'], { command, env })).stdout, '0.1.0\n');
  const server = await startServer(t, env, { command });
  const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
  const browser = newBrowser(server.url);
  const { pathname } = new URL(link);
  const page = await browser.get(pathname);
  for (const [asset] of page.text.matchAll(/\/assets\/[^"]+/g)) assert.equal((await browser.get(asset)).status, 200);
  assert.match((await browser.get('/docs/api/webhooks')).text, /<article lang="en">\n<h1/);
  const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };
  const accepted = await browser.post(pathname, account);
  assert.equal(accepted.location, '/admin', accepted.text);
  const { client_id } = await registerByHttp(server, browser);
  const listed = await runProcess(['clients', 'list', '--json'], { command, env });
  assert.equal(JSON.parse(listed.stdout).clients[0].client_id, client_id, listed.stderr);

  const redirect_uri = 'https://rp.test/cb';
  const app = ['--name', 'Another', '--redirect-uri', redirect_uri, '--scope', 'openid profile email offline_access'];
  const made = await runProcess(['clients', 'create', ...app, '--approve', '--json'], { command, env });
  const client = new RegisteredClient(server, { ...JSON.parse(made.stdout), redirect_uri });
  const { status } = await redeemAt(server.url, client, await codeFor(browser, client));
  assert.equal(status, 200);
  const maps = readFileSync(`/proc/${server.pid}/maps`, 'utf8');
  if (settings.SIGNET_WORKERS !== '2') assert.ok(maps.includes('sodium'), 'tokens are signed by libsodium');
  assert.equal((await runProcess(['healthcheck'], { command, env })).stdout, 'Ready.\n');
  assert.equal((await server.stop()).code, 0);
}

test('two builds are the same, byte by byte', async (t) => {
  const [one, other] = [await emptyFolder(t), await emptyFolder(t)];
  await makeDistribution(one);
  await makeDistribution(other);
  const files = globSync('**/*', { cwd: one, withFileTypes: true }).filter((file) => file.isFile());
  assert.ok(files.length > 40);
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name).slice(one.length);
    assert.ok(readFileSync(join(one, path)).equals(readFileSync(join(other, path))), path);
  }
});

test('the npm package brings all that it needs, and nothing of ours', async (t) => {
  const home = await emptyFolder(t);
  const listed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n');
  const kinds = [...new Set(listed.map((path) => path.split('/')[1]))].sort();
  assert.deepEqual(kinds, ['LICENSE', 'THIRD-PARTY-LICENSES', 'bin', 'package.json', 'program', 'sbom.cdx.json']);
  const env = { ...process.env, PATH, npm_config_prefix: home, npm_config_ignore_scripts: 'true' };
  const { status, stderr } = spawnSync('npm', ['install', '--global', tarball], { cwd: home, env, encoding: 'utf8' });
  if (status !== 0 && /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(stderr))
    return t.skip('no registry of npm is reached');
  assert.equal(status, 0, stderr);
  await works(t, join(home, 'bin/signet'), { HOME: home });
});

for (const workers of ['1', '2']) {
  test(`the one file needs nothing beside it, with ${workers} worker(s)`, async (t) => {
    const home = await emptyFolder(t);
    mkdirSync(join(home, 'bin'));
    cpSync(join(root, 'dist/signet'), join(home, 'bin/signet'));
    const collector = await openCollector(t);
    const variables = { SIGNET_WORKERS: workers, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    await works(t, join(home, 'bin/signet'), { HOME: home, ...variables });
    const names = new Set(collector.spans.map(({ name }) => name));
    for (const name of ['POST /oauth/token', 'update grants', 'flush', 'hash a password'])
      assert.ok(names.has(name), name);
  });
}

test('what .containerignore lets into the container is enough to build it', async (t) => {
  const context = await emptyFolder(t);
  const [all, ...letIn] = readFileSync(join(root, '.containerignore'), 'utf8').trim().split('\n');
  assert.equal(all, '*');
  for (const path of letIn.map((line) => line.slice(1)))
    cpSync(join(root, path), join(context, path), { recursive: true });
  cpSync(join(root, 'node_modules'), join(context, 'node_modules'), { recursive: true, verbatimSymlinks: true });
  // As `npm ci` does first: it refuses packages that do not fit together, by the rules of .npmrc.
  execFileSync('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline'], { cwd: context, stdio: 'pipe' });
  execFileSync('npm', ['run', 'build:executable'], { cwd: context, stdio: 'pipe' });
  assert.equal(execFileSync(join(context, 'dist/signet'), ['--version'], { encoding: 'utf8' }), '0.1.0\n');
});

test('the last stage of the Containerfile works: a user without a name, a root that is read-only, one volume', async (t) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return t.skip('only root may change the root');
  const folder = await emptyFolder(t);
  const [bare, volume] = [join(folder, 'root'), join(folder, 'volume')];
  for (const path of ['proc', 'tmp', 'usr/local/bin', 'var/lib/signet'])
    mkdirSync(join(bare, path), { recursive: true });
  const signet = join(bare, 'usr/local/bin/signet');
  cpSync(join(root, 'dist/signet'), signet);
  // Of the packages that it installs: what the file is linked with.
  for (const [library] of execFileSync('ldd', [signet], { encoding: 'utf8' }).matchAll(/\/\S+/g)) {
    mkdirSync(dirname(join(bare, library)), { recursive: true });
    cpSync(realpathSync(library), join(bare, library));
  }
  mkdirSync(volume, { mode: 0o700 });
  chownSync(volume, 10_001, 10_001);
  for (const path of [folder, bare]) chmodSync(path, 0o755);
  const command = join(folder, 'signet');
  const mounts = [
    `mount --bind ${bare} ${bare}`,
    `mount --bind ${volume} ${bare}/var/lib/signet`,
    `mount --bind /proc ${bare}/proc`,
    `mount --options remount,ro,bind ${bare}`,
  ];
  const enter = `exec chroot --userspec=10001:10001 ${bare} /usr/local/bin/signet "$@"`;
  const script = `exec unshare --mount sh -euc '${[...mounts, enter].join('; ')}' signet "$@"`;
  writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  if (spawnSync(command, ['--version']).status !== 0) return t.skip('this machine forbids mounts');
  const set = Object.fromEntries(
    (/^ENV (.*)$/m.exec(readFileSync(join(root, 'Containerfile'), 'utf8'))?.[1] ?? '')
      .split(' ')
      .map((one) => one.split('=')),
  );
  assert.equal(set.SIGNET_DATA_DIR, '/var/lib/signet');
  await works(t, command, set);
  const account = ['--email', 'last@example.com', '--name', 'Last', '--password-stdin'];
  const env = { PATH, ...set, TMPDIR: '/tmp' }; // which is read-only
  const made = await runProcess(['users', 'create', ...account], { command, env, input: 'ordinary words in a row' });
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(readdirSync(join(bare, 'tmp')), []);
  assert.equal(statSync(join(volume, 'signet.db')).uid, 10_001);
});

test('systemd finds nothing to complain about in the unit, and little that could be restricted further', async (t) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return t.skip('systemd-analyze is not installed');
  const folder = await emptyFolder(t);
  const unit = join(folder, 'signet.service');
  const written = readFileSync(join(root, 'deploy/signet.service'), 'utf8');
  writeFileSync(unit, written.replace('/usr/local/bin/signet', join(root, 'dist/signet')));
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', unit], {
    encoding: 'utf8',
  });
  assert.equal(rated.status, 0, rated.stdout);
});

test('the site of nginx serves a sign-in over TLS, and tells Signet who asks', async (t) => {
  if (!hasNginx()) return t.skip('nginx is not installed; NGINX may name one');
  await signsInThrough(t, startNginx);
});

test('the site of Caddy serves a sign-in over TLS, and tells Signet who asks', async (t) => {
  if (!hasCaddy()) return t.skip('Caddy is not installed; CADDY may name one');
  await signsInThrough(t, startCaddy);
});

test('the site of nginx takes the ciphers of BCP 195 and no other', async (t) => {
  if (!hasNginx()) return t.skip('nginx is not installed; NGINX may name one');
  const { base } = await startNginx(t, await emptyFolder(t), await freePort());
  assert.deepEqual(await unrecommendedCiphers(base), []);
});

async function signsInThrough(t: TestContext, startProxy: typeof startNginx): Promise<void> {
  const home = await emptyFolder(t);
  const port = await freePort();
  const { base, settings, ask } = await startProxy(t, home, port);
  const collector = await openCollector(t);
  const env = { PATH, HOME: home, SIGNET_PORT: String(port), SIGNET_DRAIN_SECONDS: '0', ...settings };
  Object.assign(env, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const command = join(root, 'dist/signet');
  const server = await startServer(t, env, { command });
  const account = ['--email', 'anna@example.com', '--name', 'Anna', '--admin', '--password-stdin'];
  const password = 'ordinary words in a row';
  await runProcess(['users', 'create', ...account], { command, env, input: password });

  assert.equal(JSON.parse((await ask('/.well-known/openid-configuration')).body).issuer, base);
  assert.equal((await ask('/readyz')).status, 403);
  const form = new URLSearchParams({ username: 'anna@example.com', password }).toString();
  const headers = {
    origin: base,
    'content-type': 'application/x-www-form-urlencoded',
    'x-forwarded-for': '203.0.113.7', // a lie
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  };
  const signedIn = await ask('/signin', { method: 'POST', headers }, form);
  assert.equal(signedIn.status, 303, signedIn.body);
  const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
  assert.match(cookie, /^__Host-signet_identity_session=.*; Secure/);
  const { body } = await ask('/account/sessions', { headers: { cookie: cookie.split(';')[0] } });
  assert.match(body, /127\.0\.0\.1/);
  assert.doesNotMatch(body, /203\.0\.113\.7/);
  assert.equal((await server.stop()).code, 0);
  assert.ok(collector.spans.length > 0);
  assert.ok(
    collector.spans.every(({ trace_id }) => trace_id !== 'a'.repeat(32)),
    'a visitor chooses no trace',
  );
}
