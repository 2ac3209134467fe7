import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import type { OneDb, Part } from '../platform/db/db.ts';
import type { Answer } from './poster.ts';
import type { QueuedDelivery } from './queue.ts';
import { openDeliverySender } from './sender.ts';

const delivery: QueuedDelivery = {
  delivery_id: 'msg_1',
  created_at: 0,
  attempts: 0,
  next_attempt_at: 0,
  last_error: null,
  delivered_at: null,
  dead_at: null,
};

/** What asks the store is not this sender. */
const part = {} as OneDb;

const noAnswer: Answer = { status: null, body: null, milliseconds: 0 };

test('while the turn of a slow target lasts, the calls of each second do not pile up behind it', async () => {
  const answer = Promise.withResolvers<Answer>();
  const due = new Map([['slow', [delivery]]]);
  const sender = openDeliverySender(
    { clock: () => 0, log: pino({ level: 'silent' }), db: { parts: [part] } },
    {
      kind: 'webhook',
      targets: async () => [...due.keys()],
      due: async (_, target) => due.get(target)?.splice(0) ?? [],
      claim: async () => true,
      post: async () => ({ answer: await answer.promise }),
      delivered: async () => undefined,
      failed: async () => undefined,
      giveUp: async () => undefined,
    },
  );
  const settled: string[] = [];
  const note = (name: string, work: Promise<unknown>) => work.then(() => settled.push(name));
  const [first, second] = [note('first', sender.deliver()), note('second', sender.deliver())];
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  assert.deepEqual(settled, ['second'], 'it gave no turn, and waits for none');
  const closed = note('closed', sender.close());
  await nextTurn();
  answer.resolve(noAnswer);
  await Promise.all([first, second, closed]);
  assert.deepEqual(settled, ['second', 'first', 'closed'], 'what is under way ends before it is closed');
});

test('targets that do not answer share half of the turns, and the others take turns in the rest', async () => {
  let seconds = 0;
  const due = new Map<string, number>();
  const posted: string[] = [];
  let answers: (() => void)[] = [];
  const isSilent = (target: string) => target.startsWith('silent');
  const sender = openDeliverySender<QueuedDelivery & { target: string }>(
    { clock: () => seconds * 1000, log: pino({ level: 'silent' }), db: { parts: [part] } },
    {
      kind: 'webhook',
      targets: async (_, __, after, limit) => [...due.keys()].filter((target) => target > after).slice(0, limit),
      async due(_, target, __, limit) {
        const count = Math.min(due.get(target) ?? 0, limit);
        due.set(target, (due.get(target) ?? 0) - count);
        return Array.from({ length: count }, () => ({ ...delivery, target }));
      },
      claim: async () => true,
      async post({ target }) {
        posted.push(target);
        if (!isSilent(target)) return { answer: noAnswer };
        await new Promise<void>((answer) => answers.push(answer));
        return { problem: { message: 'no answer', isSilent: true }, answer: noAnswer };
      },
      delivered: async () => undefined,
      failed: async () => undefined,
      giveUp: async () => undefined,
    },
  );
  const settle = async () => {
    for (let turns = 0; turns < 50; turns += 1) await nextTurn();
  };
  const end = () => {
    const ended = answers;
    answers = [];
    for (const answer of ended) answer();
  };
  for (let place = 10; place < 40; place += 1) due.set(`silent${place}`, 2);
  const first = sender.deliver();
  await settle();
  assert.equal(new Set(posted).size, 20, 'no more at a time');
  for (; answers.length > 0; await settle()) end();
  await first;
  posted.length = 0;
  seconds += 60;
  for (const target of due.keys()) due.set(target, 1);
  due.set('writer1', 12);
  due.set('writer2', 1);
  const second = sender.deliver();
  await settle();
  assert.equal(posted.filter(isSilent).length, 10);
  const answered = posted.filter((target) => !isSilent(target));
  assert.deepEqual(answered.length, 13, 'they were not behind those that do not answer');
  assert.ok(answered.indexOf('writer2') <= 5, 'nor behind all deliveries to another target');
  const closed = sender.close();
  end();
  await Promise.all([second, closed]);
  assert.equal(posted.filter(isSilent).length, 10, 'those that waited for a turn are left to the next start');
});

test('of two parts of the store one that does not answer keeps no delivery waiting, and a target has one turn at a time', async () => {
  const parts = [{}, {}, {}] as OneDb[];
  const [silent, ...others] = parts;
  const due = new Map<Part, number>(others.map((part) => [part, 5]));
  let inFlight = 0;
  let most = 0;
  let posted = 0;
  const sender = openDeliverySender(
    { clock: () => 0, log: pino({ level: 'silent' }), db: { parts } },
    {
      kind: 'webhook',
      targets: (part) => (part === silent ? Promise.reject(new Error('no answer')) : Promise.resolve(['target'])),
      due: async (part) => {
        const count = due.get(part) ?? 0;
        due.delete(part);
        return Array.from({ length: count }, () => delivery);
      },
      claim: async () => true,
      async post() {
        inFlight += 1;
        most = Math.max(most, inFlight);
        posted += 1;
        await nextTurn();
        inFlight -= 1;
        return { answer: noAnswer };
      },
      delivered: async () => undefined,
      failed: async () => undefined,
      giveUp: async () => undefined,
    },
  );
  await assert.rejects(sender.deliver(), /no answer/);
  assert.equal(posted, 10);
  assert.equal(most, 5);
  await sender.close();
});
