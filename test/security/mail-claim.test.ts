import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSignet } from '../support/signet.ts';

test('a mail that a slow server keeps waiting is not sent by another node meanwhile', async (t) => {
  const connections: Socket[] = [];
  const server = createServer((socket) => void connections.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const env = { SIGNET_SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const signet = await startSignet(t, { env });
  const beside = await startSignet(t, { env, beside: signet });
  await signet.deps.db.batch(signet.deps.mail.enqueue({ to: 'a@example.com', subject: 'Hello', text: 'World' }));
  const slow = signet.deps.mail.deliver();
  for (let waits = 0; waits < 400 && connections.length === 0; waits += 1) await sleep(20);
  assert.equal(connections.length, 1);
  signet.clock.advance(60);
  await beside.deps.mail.deliver();
  assert.equal(connections.length, 1);
  for (const socket of connections) socket.destroy();
  await slow;
  const row = await signet.deps.db.get<{ next_attempt_at: number }>('select next_attempt_at from outgoing_mails');
  assert.equal(row?.next_attempt_at, signet.clock() / 1000 + 30);
});
