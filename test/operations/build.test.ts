import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { code, makeBuild } from '../../scripts/build.ts';
import { afterTest } from '../support/after-test.ts';
import { newBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';
import { registerByHttp, runProcess, startServer } from '../support/server-process.ts';

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

test('a build has all that it needs: it starts with the settings and the store of its user, and someone signs in', async (t) => {
  const { home, command } = await installedBuild(t);
  const program = readFileSync(join(home, 'node_modules/signet', code), 'utf8');
  assert.ok(!/import\("(node:|sodium)/.test(program), 'an executable has no import()');
  const config = join(home, '.config/signet');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'signet.env'), 'SIGNET_LOG_LEVEL=warn\nSIGNET_PORT=1\n');
  const env = { HOME: home, NODE_COMPILE_CACHE: '', SIGNET_PORT: String(await freePort()) };
  const server = await startServer(t, env, { command });
  assert.match(server.said.stdout, new RegExp(`SQLite in ${home}/\\.local/share/signet\n`));

  const [link = ''] = /http\S+\/invite\/\S+/.exec(server.said.stdout) ?? [];
  const browser = newBrowser(server.url);
  const page = await browser.get(new URL(link).pathname);
  for (const [asset] of page.text.matchAll(/\/assets\/[^"]+/g)) assert.equal((await browser.get(asset)).status, 200);
  const account = { email: 'first@example.com', name: 'First', password: 'ordinary words in a row' };
  assert.equal((await browser.post(new URL(link).pathname, account)).location, '/admin');
  // Compares names by a table, and checks the body with a library that is loaded late.
  const { client_id } = await registerByHttp(server, browser);

  const listed = await runProcess(['clients', 'list', '--json'], { env, command });
  assert.equal(JSON.parse(listed.stdout).clients[0].client_id, client_id, listed.stderr);
  const check = () => runProcess(['healthcheck'], { env, command });
  assert.deepEqual(await check().then(({ code, stdout }) => [code, stdout]), [0, 'Ready.\n']);
  assert.equal((await server.stop()).stderr, '');
  const refused = await check();
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^Not ready: no Signet answers on port \d+ \(ECONNREFUSED\)\.\n$/);
});
