import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { ask } from '../support/browser.ts';
import { signedInClient } from '../support/command-line.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import {
  bareSettings,
  codeFor,
  isActiveAt,
  redeemAt,
  refreshAt,
  runProcess,
  type ServerProcess,
  type Settings,
  startServer,
  type TokenAnswer,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';

const run = (command: string, ...args: string[]) => spawnSync(command, args, { encoding: 'utf8' });

const readiness = async ({ url }: ServerProcess) => (await ask(`${url}/readyz`)).json;
const untilReady = (server: ServerProcess) =>
  until('the node is ready', async () => (await readiness(server))?.status === 'ready');
const untilNotReady = (server: ServerProcess, reason: string) =>
  until(`the node is not ready: ${reason}`, async () => {
    const { reasons } = (await readiness(server)) ?? {};
    return JSON.stringify(reasons) === JSON.stringify([reason]);
  });

/** The file is checked and tried each second: the node may be ready a moment before. What was confirmed was not lost. */
async function refreshOnceWritten(
  { url }: ServerProcess,
  client: RegisteredClient,
  token: string,
): Promise<TokenAnswer> {
  let answer = await refreshAt(url, client, token);
  await until('changes are accepted again', async () => {
    if (answer.status === 503) answer = await refreshAt(url, client, token);
    return answer.status !== 503;
  });
  assert.equal(answer.status, 200);
  return answer;
}

/** A disk of our own, with the data folder on it. Undefined, and the test skipped, where this process may not mount. */
async function mountedDisk(t: TestContext): Promise<{ settings: Settings; disk: string } | undefined> {
  const disk = await scratchFolder('disk');
  const mounted = run('mount', '-t', 'tmpfs', '-o', 'size=32m', 'signet-test', disk);
  if (mounted.status !== 0) {
    rmSync(disk, { recursive: true });
    t.skip(`a disk cannot be mounted here: ${mounted.stderr?.trim() ?? mounted.error?.message}`);
    return undefined;
  }
  const settings = { ...(await bareSettings(t)), SIGNET_DATA_DIR: join(disk, 'data') };
  afterTest(t, () => {
    run('umount', '--lazy', disk);
    rmSync(disk, { recursive: true, force: true });
  });
  return { settings, disk };
}

function remount(disk: string, how: 'ro' | 'rw'): void {
  const { status, stderr } = run('mount', '-o', `remount,${how}`, disk);
  assert.equal(status, 0, stderr);
}

/** @returns how to make room again. */
function fill(disk: string): () => void {
  const path = join(disk, 'full');
  const file = openSync(path, 'w');
  for (const size of [1 << 20, 4096]) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
  }
  closeSync(file);
  return () => rmSync(path);
}

test('a disk that is full refuses changes and serves the rest, one that is read-only at a start too; both go on by themselves', async (t) => {
  const mounted = await mountedDisk(t);
  if (!mounted) return;
  const { settings, disk } = mounted;
  const server = await startServer(t, settings);
  const { browser, client } = await signedInClient(server);
  const first = await redeemAt(server.url, client, await codeFor(browser, client));

  const makeRoom = fill(disk);
  await untilNotReady(server, 'disk');
  let { refresh_token } = first;
  await until('a change finds no room', async () => {
    const answer = await refreshAt(server.url, client, refresh_token);
    if (answer.status === 200) ({ refresh_token } = answer); // there was some left in the log
    return answer.status === 503;
  });
  assert.equal(await isActiveAt(server.url, client, refresh_token), true, 'what needs no writing is answered');
  makeRoom();
  await untilReady(server);
  const after = await refreshOnceWritten(server, client, refresh_token);
  assert.equal((await server.stop()).code, 0);

  remount(disk, 'ro');
  const again = await startServer(t, settings);
  await untilNotReady(again, 'disk');
  assert.equal((await ask(`${again.url}/.well-known/jwks.json`)).status, 200);
  assert.equal(await isActiveAt(again.url, client, after.refresh_token), true);
  assert.equal((await refreshAt(again.url, client, after.refresh_token)).status, 503);
  assert.match(again.said.stderr, /The database cannot be written: its disk is full or read-only/);
  const refused = await runProcess(['users', 'list'], { env: settings });
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /The disk that holds \S+ is read-only/);
  remount(disk, 'rw');
  await untilReady(again);
  await refreshOnceWritten(again, client, after.refresh_token);
});

/** Whoever has no rights but those of everybody. */
const nobody = 65_534;

test('a server that may not reach its files any more says so, loses nothing, and goes on once it may', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root starts a process as another user');
  const settings = await bareSettings(t);
  const folder = settings.SIGNET_DATA_DIR!;
  const user = nobody;
  mkdirSync(folder, { recursive: true });
  chmodSync(join(folder, '..'), 0o755);
  chownSync(folder, user, user);
  const env = { ...settings, HOME: folder };
  const cannotStart = (error: Error) => ({ code: 1, stderr: error.message }); // a folder above is closed to others
  const tried = await runProcess(['--version'], { env, user }).catch(cannotStart);
  if (tried.code !== 0) return t.skip(`another user may not run this checkout: ${tried.stderr}`);
  const server = await startServer(t, env, { user });
  const { browser, client } = await signedInClient(server);
  const { refresh_token } = await redeemAt(server.url, client, await codeFor(browser, client));

  chmodSync(folder, 0o000);
  await untilNotReady(server, 'file');
  assert.equal((await refreshAt(server.url, client, refresh_token)).status, 503);
  assert.match(server.said.stderr, /The folder of the database file \S+ may not be searched/);
  chmodSync(folder, 0o700);
  await untilReady(server);
  await refreshOnceWritten(server, client, refresh_token);
  assert.equal((await server.stop()).code, 0);

  chownSync(join(folder, 'signet.db'), 0, 0); // as a restore by root leaves it
  const refused = await runProcess(['serve'], { env, user });
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /signet\.db cannot be opened for writing.*EACCES|owner or mode/s);
});
