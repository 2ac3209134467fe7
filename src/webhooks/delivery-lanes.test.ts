import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import type { QueuedDelivery } from '../platform/db/delivery-queue.ts';
import { openDeliveryLanes } from './delivery-lanes.ts';

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
