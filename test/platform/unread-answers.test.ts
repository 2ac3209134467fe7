import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { sendRaw } from '../support/raw-socket.ts';
import { startSignet } from '../support/signet.ts';

const get = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';

test('of one connection 32 requests wait for their answers, and a further one ends it', async (t) => {
  const signet = await startSignet(t);
  const { port } = signet.deps.config;
  const { text, closed } = await sendRaw(port, get.repeat(32));
  assert.deepEqual([text.match(/HTTP\/1\.1 200/g)?.length, closed], [32, false]);
  assert.ok((await sendRaw(port, get.repeat(60))).closed);
});

test('one connection more than may be open is closed, and the others are answered', { timeout: 60_000 }, async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_LIMIT_CONNECTIONS: '64' } });
  const { port } = signet.deps.config;
  const open = Array.from({ length: 64 }, () => connect(port, '127.0.0.1'));
  t.after(() => {
    for (const socket of open) socket.destroy();
  });
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.write(get, resolve))));
  await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
  assert.deepEqual(await sendRaw(port, get), { text: '', closed: true });
});
