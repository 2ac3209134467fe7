/**
 * `npm run test:install`: every way to install Signet, from nothing, in empty folders with another home. What the machine
 * cannot do is skipped, and said.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { makeDistribution } from '../../scripts/build.ts';
import { afterTest } from '../support/after-test.ts';
import { newBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';
import { registerByHttp, runProcess, startServer } from '../support/server-process.ts';

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
async function works(t: TestContext, command: string, home: string, more: Record<string, string> = {}): Promise<void> {
  const env = { PATH, HOME: home, NODE_COMPILE_CACHE: '', SIGNET_PORT: String(await freePort()), ...more };
  assert.equal((await runProcess(['--version'], { command, env })).stdout, '0.1.0\n');
  const server = await startServer(t, env, { command });
  const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
  const browser = newBrowser(server.url);
  const { pathname } = new URL(link);
  const page = await browser.get(pathname);
  for (const [asset] of page.text.matchAll(/\/assets\/[^"]+/g)) assert.equal((await browser.get(asset)).status, 200);
  const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };
  assert.equal((await browser.post(pathname, account)).location, '/admin');
  const { client_id } = await registerByHttp(server, browser);
  const listed = await runProcess(['clients', 'list', '--json'], { command, env });
  assert.equal(JSON.parse(listed.stdout).clients[0].client_id, client_id, listed.stderr);
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
  await works(t, join(home, 'bin/signet'), home);
});

for (const workers of ['1', '2']) {
  test(`the one file needs nothing beside it, with ${workers} worker(s)`, async (t) => {
    const home = await emptyFolder(t);
    mkdirSync(join(home, 'bin'));
    execFileSync('cp', [join(root, 'dist/signet'), join(home, 'bin')]);
    await works(t, join(home, 'bin/signet'), home, { SIGNET_WORKERS: workers });
  });
}
