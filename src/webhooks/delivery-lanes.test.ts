import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { readConfig } from '../app/config.ts';
import type { QueuedDelivery } from '../platform/db/delivery-queue.ts';
import { openDeliveryLanes, openPoster, unexpectedStatus } from './delivery-lanes.ts';

const delivery: QueuedDelivery = {
  delivery_id: 'msg_1',
  created_at: 0,
  attempts: 0,
  next_attempt_at: 0,
  last_error: null,
  delivered_at: null,
  dead_at: null,
};

test('while a slow target keeps its lane busy, the calls of each second do not pile up behind it', async () => {
  const answer = Promise.withResolvers<undefined>();
  const due = new Map([['slow', [delivery]]]);
  const sender = openDeliveryLanes(
    { clock: () => 0, log: pino({ level: 'silent' }) },
    {
      kind: 'deliveries',
      targets: async () => [...due.keys()],
      due: async (target) => due.get(target)?.splice(0) ?? [],
      claim: async () => true,
      post: () => answer.promise,
      delivered: async () => undefined,
      failed: async () => undefined,
      giveUp: async () => undefined,
    },
  );
  const settled: string[] = [];
  const note = (name: string, work: Promise<unknown>) => work.then(() => settled.push(name));
  const [first, second] = [note('first', sender.deliver()), note('second', sender.deliver())];
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  assert.deepEqual(settled, ['second'], 'it started no lane, and waits for none');
  const closed = note('closed', sender.close());
  await nextTurn();
  answer.resolve(undefined);
  await Promise.all([first, second, closed]);
  assert.deepEqual(settled, ['second', 'first', 'closed'], 'what is under way ends before it is closed');
});

test('a target that answers with interim responses and nothing else is cut off', async (t) => {
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
  const answers = [`${interim.repeat(10)}HTTP/1.1 204 No Content\r\n\r\n`, interim.repeat(11)];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(answers.shift() ?? ''));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const post = openPoster({ clock: () => 0, config: readConfig({ SIGNET_WEBHOOK_INTERNAL: '127.0.0.1' }) });
  const target = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, headers: {}, body: '' };
  assert.deepEqual(await post(target, unexpectedStatus), unexpectedStatus(204));
  const problem = await post(target, unexpectedStatus);
  assert.equal(problem?.message, 'The receiver could not be reached: too many interim responses.');
});
