import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newBrowser } from '../support/browser.ts';
import { bareSettings, isRunning, type ServerProcess, startServer, workerPids } from '../support/server-process.ts';
import { until } from '../support/until.ts';

const preload = fileURLToPath(new URL('../support/throw-outside.ts', import.meta.url));
const thrown = { NODE_OPTIONS: `--import=${preload}` };
const fresh = { connection: 'close' };

test('an exception outside of the promise of a request is logged and ends that request, not the process', async (t) => {
  const server = await startServer(t, { ...(await bareSettings(t)), ...thrown });
  const browser = newBrowser(server.url);
  for (const way of ['at-once', 'timer', 'rejection']) {
    const others = Array.from({ length: 8 }, () => browser.get('/.well-known/jwks.json'));
    const failed = await browser.get(`/throw/${way}`);
    assert.deepEqual([failed.status, failed.json?.error], [500, 'server_error'], way);
    assert.equal(failed.headers.get('cache-control'), 'no-store');
    assert.doesNotMatch(failed.text, /thrown by/);
    for (const { status } of await Promise.all(others)) assert.equal(status, 200, way);
    assert.equal((await browser.get('/signin', fresh)).status, 200, way);
  }
  const logged = () => server.said.stderr.match(/"message":"thrown by the test"/g)?.length;
  assert.equal(logged(), 3);
  process.kill(server.pid, 'SIGUSR2');
  await until('four are logged', () => logged() === 4);
  assert.equal((await browser.get('/signin', fresh)).status, 200);
  assert.equal((await server.stop()).code, 0);
});

test('a worker that met such an exception is replaced once, and no connection is refused meanwhile', async (t) => {
  const server = await startServer(t, { ...(await bareSettings(t)), ...thrown, SIGNET_WORKERS: '2' });
  const before = workerPids(server);
  const browser = newBrowser(server.url);
  let isOver = false;
  let answers = 0;
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      assert.equal((await browser.get('/.well-known/jwks.json', answers % 2 ? fresh : {})).status, 200);
      answers += 1;
    }
  });
  assert.equal((await browser.get('/throw/timer', fresh)).status, 500);
  await until('it is replaced', () => server.said.stderr.includes('a worker was replaced'));
  const [, pid] = /"pid":(\d+),"msg":"a worker was replaced/.exec(server.said.stderr) ?? [];
  assert.ok(before.includes(Number(pid)), server.said.stderr);
  await until('it has ended', () => !isRunning(Number(pid)));
  isOver = true;
  await Promise.all(load);
  assert.ok(answers > 0);
  await failsOnWhileItFinishes(server);
  assert.equal(workerPids(server).length, 2);
  assert.doesNotMatch(server.said.stderr, /a worker died/);
  assert.equal((await server.stop()).code, 0);
});

async function failsOnWhileItFinishes(server: ServerProcess): Promise<void> {
  const [pid] = workerPids(server) as [number];
  const count = (text: string) => server.said.stderr.split(text).length - 1;
  const { hostname, port } = new URL(server.url);
  // Half a request each: whichever worker has them stays for a while after it was replaced.
  const held = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write('POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n');
      return socket.on('error', () => undefined);
    }),
  );
  const [replaced, failures] = [count('a worker was replaced'), count('thrown by the test')];
  process.kill(pid, 'SIGUSR2');
  await until('it is replaced', () => count('a worker was replaced') === replaced + 1);
  process.kill(pid, 'SIGUSR2');
  await until('each is logged', () => count('thrown by the test') === failures + 4); // message and stack of each
  for (const socket of held) socket.destroy();
  await until('it has ended', () => !isRunning(pid));
  assert.equal(count('a worker was replaced'), replaced + 1);
}
