import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { code, makeBuild } from '../../scripts/build.ts';
import { documentation } from '../../src/platform/assets.ts';
import { afterTest } from '../support/after-test.ts';
import { newBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { importedHashes } from '../support/imported-hashes.ts';
import { scratchFolder } from '../support/scratch.ts';
import {
  registerByHttp,
  runProcess,
  type ServerProcess,
  type Settings,
  startServer,
} from '../support/server-process.ts';

const root = join(import.meta.dirname, '../..');

/** As npm installs it, with Node beside it. */
async function installedBuild(t: TestContext): Promise<{ home: string; command: string }> {
  const home = await scratchFolder('build');
  afterTest(t, () => rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const folder = join(home, 'node_modules/signet');
  await makeBuild(folder);
  symlinkSync(join(root, 'node_modules/node'), join(home, 'node_modules/node-of-machine'));
  return { home, command: join(folder, 'bin/signet') };
}

/** Someone becomes the first administrator and registers a client, which a command sees. */
async function works(server: ServerProcess, run: { env?: Settings; command: string }): Promise<void> {
  const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
  const browser = newBrowser(server.url);
  const page = await browser.get(new URL(link).pathname);
  for (const [asset] of page.text.matchAll(/\/assets\/[^"]+/g)) assert.equal((await browser.get(asset)).status, 200);
  const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };
  assert.equal((await browser.post(new URL(link).pathname, account)).location, '/admin');
  for (const page of ['/docs/install', '/docs/api/webhooks', '/docs/incidents', '/docs/verify'])
    assert.match((await browser.get(page)).text, /<article lang="en">\n<h1/, page);
  assert.equal((await browser.get('/docs/screenshots/account.png')).headers.get('content-type'), 'image/png');
  // Compares names by a table, and checks the body with a library that is loaded late.
  const { client_id } = await registerByHttp(server, browser);
  const listed = await runProcess(['clients', 'list', '--json'], run);
  assert.equal(JSON.parse(listed.stdout).clients[0].client_id, client_id, listed.stderr);
}

/** Computed in a thread, which gets the text of functions and of a package. */
async function checksImportedHashes(server: ServerProcess, file: string) {
  const store = new DatabaseSync(file);
  for (const { stored, password } of importedHashes.filter(
    ({ stored, atDoor }) => atDoor && /^\$(2b|6|P)\$/.test(stored),
  )) {
    store.prepare('update passwords set password_hash = ?').run(stored);
    const signIn = await newBrowser(server.url).post('/signin', { username: 'first@example.com', password });
    assert.equal(signIn.status, 303, stored);
  }
  store.close();
}

test('a build has all that it needs: it starts with the settings and the store of its user, and someone signs in', async (t) => {
  const { home, command } = await installedBuild(t);
  const program = readFileSync(join(home, 'node_modules/signet', code), 'utf8');
  assert.ok(!/import\("(node:|sodium)/.test(program), 'an executable has no import()');
  assert.doesNotMatch(program, /[^\0-\x7f]/, 'it would take twice the memory');
  const config = join(home, '.config/signet');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'signet.env'), 'SIGNET_LOG_LEVEL=warn\nSIGNET_PORT=1\n');
  const env = { HOME: home, NODE_COMPILE_CACHE: '', SIGNET_PORT: String(await freePort()) };
  const server = await startServer(t, env, { command });
  assert.match(server.said.stdout, new RegExp(`SQLite in ${home}/\\.local/share/signet\n`));

  await works(server, { env, command });
  await checksImportedHashes(server, join(home, '.local/share/signet/signet.db'));
  const check = () => runProcess(['healthcheck'], { env, command });
  assert.deepEqual(await check().then(({ code, stdout }) => [code, stdout]), [0, 'Ready.\n']);
  assert.equal((await server.stop()).stderr, '');
  const refused = await check();
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^Not ready: no Signet answers on port \d+ \(ECONNREFUSED\)\.\n$/);
});

/** A clone, with the packages of this one. */
async function newClone(t: TestContext) {
  const folder = await scratchFolder('clone');
  afterTest(t, () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const guides = Object.values(documentation).map((path) => join('src', path));
  for (const path of ['bin', 'scripts', 'src', 'package.json', 'tsconfig.json', ...guides]) {
    cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true });
  }
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const path = join('node_modules', name);
    if (name !== '.cache') symlinkSync(join(root, path), join(folder, path));
  }
  const prepare = () => runProcess([], { program: join(folder, 'scripts/prepare.ts') });
  return { folder, prepare, command: join(folder, 'bin/signet') };
}

test('a clone runs the one file that was made of it, and its sources as soon as one is another', async (t) => {
  const { folder, prepare, command } = await newClone(t);
  const version = async () => (await runProcess(['--version'], { command })).stdout;
  const source = join(folder, 'src/cli/main.ts');
  const settings = join(folder, 'package.json');
  const text = readFileSync(source, 'utf8');
  const print = (mark: number) => writeFileSync(source, text.replace('version}', `version}/${mark}`));
  // As nobody does: it shows which of both is run.
  const hide = (path: string) => utimesSync(path, 1, 1_700_000_000);

  print(1);
  hide(source);
  hide(settings);
  assert.equal(await version(), '0.1.0/1\n', 'there is no such file yet');
  assert.deepEqual(await prepare(), { code: 0, signal: null, stdout: '', stderr: '' });
  print(2);
  assert.equal(await version(), '0.1.0/2\n');
  hide(source);
  assert.equal(await version(), '0.1.0/1\n');

  writeFileSync(settings, readFileSync(settings));
  assert.equal(await version(), '0.1.0/2\n');
  hide(settings);
  const made = 'node_modules/.cache/signet-program';
  assert.doesNotMatch(readFileSync(join(folder, made, 'signet.cjs'), 'utf8'), /[^\0-\x7f]/, 'as for a build');
  for (const part of ['node_modules/.package-lock.json', `${made}/inputs.json`, `${made}/signet.cjs`]) {
    const path = join(folder, part);
    renameSync(path, `${path}.away`);
    assert.equal(await version(), '0.1.0/2\n', part);
    renameSync(`${path}.away`, path);
    assert.equal(await version(), '0.1.0/1\n', part);
  }

  const env = { SIGNET_PORT: String(await freePort()) };
  writeFileSync(join(folder, '.env'), 'SIGNET_LOG_LEVEL=warn\nSIGNET_WORKERS=2\nSIGNET_PORT=1\n');
  const server = await startServer(t, env, { command });
  assert.match(server.said.stdout, new RegExp(`SQLite in ${folder}/data\n`));
  await works(server, { env, command });
  await checksImportedHashes(server, join(folder, 'data/signet.db'));
  assert.equal((await server.stop()).stderr, '');
  assert.equal(await version(), '0.1.0/1\n', 'what has run was the one file');

  truncateSync(join(folder, made, 'signet.cjs'), 100_000);
  assert.equal(await version(), '0.1.0/2\n', 'it is not whole');
  rmSync(join(folder, 'node_modules/esbuild')); // as npm ci --omit=dev
  assert.deepEqual(await prepare(), { code: 0, signal: null, stdout: '', stderr: '' });
  assert.equal(await version(), '0.1.0/2\n');
});
