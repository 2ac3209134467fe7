import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { ask } from '../support/browser.ts';
import { signedInClient } from '../support/command-line.ts';
import { repeated } from '../support/repeated.ts';
import { bareSettings, codeFor, redeemAt, refreshAt, type Settings, startServer } from '../support/server-process.ts';

const isLong = repeated(1) > 1;
const slow = isLong ? 1_500 : 150;
const idle = isLong ? 5_000 : 500;

/** Connections that wait after these bytes. @returns those that are open. */
async function open(port: number, count: number, bytes: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += 100) {
    const some = Array.from({ length: Math.min(100, count - opened) }, () => connect(port, '127.0.0.1'));
    await Promise.all(
      some.map((socket) => {
        socket.on('error', () => undefined);
        socket.resume(); // else the end of the connection is not seen behind an answer that nothing reads
        return new Promise<void>((resolve) => socket.on('connect', () => socket.write(bytes, () => resolve())));
      }),
    );
    sockets.push(...some);
  }
  return sockets;
}

/** One more byte of each, as slowly as the server lets them. */
function trickle(sockets: readonly Socket[]): void {
  for (const socket of sockets) if (socket.writable) socket.write('a');
}

test('clients that send slowly, and connections that send nothing, keep no one else from an answer', async (t) => {
  const settings: Settings = { ...(await bareSettings(t)), SIGNET_RATE_LIMITS: 'off' };
  const server = await startServer(t, settings);
  const { browser, client } = await signedInClient(server);
  const port = Number(settings.SIGNET_PORT);
  /** In megabytes. */
  const memory = () =>
    Number(spawnSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' }).stdout) / 1024;
  let { refresh_token } = await redeemAt(server.url, client, await codeFor(browser, client));
  const before = memory();

  const silent = await open(port, idle / 2, '');
  const keptAlive = await open(port, idle / 2, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const headers = await open(port, slow, 'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  const body =
    'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9999\r\n\r\n';
  const bodies = await open(port, slow, body);
  const all = [...silent, ...keptAlive, ...headers, ...bodies];
  afterTest(t, () => all.forEach((socket) => void socket.destroy()));

  const rounds = isLong ? 300 : 40;
  for (let round = 0; round < rounds; round += 1) {
    trickle([...headers, ...bodies]);
    const [answer, page, keys] = await Promise.all([
      refreshAt(server.url, client, refresh_token),
      ask(`${server.url}/signin`),
      ask(`${server.url}/.well-known/jwks.json`),
    ]);
    assert.deepEqual([answer.status, page.status, keys.status], [200, 200, 200]);
    refresh_token = answer.refresh_token;
  }
  const answered = keptAlive.filter((socket) => socket.bytesRead > 0).length;
  assert.equal(answered, keptAlive.length, 'each of the idle connections was answered before it was idle');
  const megabytes = Math.round(memory() - before);
  t.diagnostic(JSON.stringify({ idle, slow: 2 * slow, requests: rounds * 3, failed: 0, megabytes }));
  assert.ok(megabytes < 50 + all.length * 0.05, `${megabytes} MB more for ${all.length} connections`);

  // What is not sent in time is not waited for.
  const ends = headers.map(async (socket) => socket.closed || new Promise((resolve) => socket.on('close', resolve)));
  await Promise.all(isLong ? ends : []);
});
