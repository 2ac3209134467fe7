import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../../platform/errors.ts';
import { type Asker, type HashQueueSettings, hashQueue, identified, unidentified } from './hash-queue.ts';

/** A queue whose tasks end when the test says so. */
function heldQueue(settings: Partial<HashQueueSettings> = {}) {
  const inTurn = hashQueue({
    concurrency: 1,
    queueLimit: 100,
    perAccount: 100,
    perAddress: 100,
    maxWaitMs: 5000,
    monotonic: () => 0,
    ...settings,
  });
  const running: { name: string; end: () => void }[] = [];
  const refused: string[] = [];
  const ask = (name: string, asker: Asker) => {
    const task = () => new Promise<void>((end) => running.push({ name, end }));
    return inTurn(asker, task).catch((error: unknown) => {
      assert.ok(error instanceof RequestError);
      assert.ok((error.retryAfter ?? 0) > 0 && error.userMessage);
      refused.push(`${name} ${error.status}`);
    });
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  /** Ends one after the other until none is left. @returns their names, in the order in which they began. */
  async function endAll(): Promise<string[]> {
    const names: string[] = [];
    for (await settle(); ; await settle()) {
      const next = running.shift();
      if (!next) return names;
      names.push(next.name);
      next.end();
    }
  }
  return { ask, endAll, refused, settle };
}

const from = (address: string, email = 'ada@example.com') => unidentified(email, address);
const known = (user_id: string, address = '192.0.2.99') => identified(user_id, address);

test('addresses take turns, so that many requests of one delay another by one', async () => {
  const { ask, endAll } = heldQueue();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void ask(name, from('192.0.2.1'));
  void ask('b1', from('192.0.2.2'));
  void ask('c1', from('192.0.2.3', 'grace@example.com'));
  assert.deepEqual(await endAll(), ['a1', 'b1', 'c1', 'a2', 'a3', 'a4']);
});

test('the addresses of an IPv6 /48 have their turns together', async () => {
  const { ask, endAll, refused, settle } = heldQueue({ queueLimit: 4 });
  for (const place of [0, 1, 2, 3, 4]) void ask(`a${place}`, from(`2001:db8:1:${place}::1`));
  void ask('b', from('2001:db8:2::1'));
  void ask('c', from('192.0.2.1'));
  await settle();
  assert.deepEqual(refused, ['a4 503', 'a3 503']);
  assert.deepEqual(await endAll(), ['a0', 'b', 'c', 'a1', 'a2']);
});

test('a requester who is known takes turns with all others together', async () => {
  const { ask, endAll } = heldQueue();
  for (const place of [1, 2, 3, 4, 5]) void ask(`g${place}`, from(`192.0.2.${place}`));
  void ask('ada', known('usr_ada'));
  void ask('ada again', known('usr_ada'));
  void ask('grace', known('usr_grace'));
  assert.deepEqual(await endAll(), ['g1', 'ada', 'g2', 'grace', 'g3', 'ada again', 'g4', 'g5']);
});

test('known requesters of one network have its turns, and within it each account has its own', async () => {
  const { ask, endAll, refused, settle } = heldQueue({ queueLimit: 4 });
  for (const user of [1, 2, 3, 4, 5]) void ask(`bot ${user}`, known(`usr_${user}`));
  for (const name of ['ada', 'ada again']) void ask(name, known('usr_ada', '192.0.2.1'));
  await settle();
  assert.deepEqual(refused, ['bot 5 503', 'bot 4 503']);
  assert.deepEqual(await endAll(), ['bot 1', 'ada', 'ada again', 'bot 2', 'bot 3']);
  for (const name of ['bot 2 again', 'bot 3 again', 'bot 1 again']) void ask(name, known(`usr_${name.charAt(4)}`));
  void ask('grace', known('usr_grace'));
  assert.deepEqual(await endAll(), ['bot 2 again', 'grace', 'bot 3 again', 'bot 1 again']);
});

test('who has just asked, served or refused, gives way to one who has not, for some seconds', async () => {
  let ms = 0;
  const { ask, endAll, refused, settle } = heldQueue({ queueLimit: 2, monotonic: () => ms });
  const askAll = async (...names: string[]) => {
    for (const name of names) void ask(name, from(`192.0.2.${name.slice(1)}`));
    await settle();
    return refused.splice(0);
  };
  assert.deepEqual(await askAll('a1', 'a2', 'a3', 'a4'), ['a4 503']);
  assert.deepEqual(await askAll('a4'), ['a4 503']);
  assert.deepEqual(await endAll(), ['a1', 'a2', 'a3']);
  assert.deepEqual(await askAll('a1', 'a2', 'a4', 'a5', 'a6'), ['a4 503', 'a2 503']);
  assert.deepEqual(await endAll(), ['a1', 'a5', 'a6']);
  ms += 60_000;
  assert.deepEqual(await askAll('a1', 'a2', 'a4', 'a7'), ['a7 503']);
});

test('of one account and of one address only so many are under way, and all others of them are refused at once', async () => {
  const { ask, endAll, refused, settle } = heldQueue({ perAccount: 2, perAddress: 3 });
  for (const place of [1, 2, 3]) void ask(`account ${place}`, from(`192.0.2.${place}`));
  for (const place of [1, 2, 3, 4]) void ask(`address ${place}`, from('2001:db8:1:2::1', `${place}@example.com`));
  for (const place of [1, 2, 3]) void ask(`known ${place}`, known('usr_ada'));
  await settle();
  assert.deepEqual(refused, ['account 3 429', 'address 4 429', 'known 3 429']);
  assert.equal((await endAll()).length, 7);
  void ask('later', from('192.0.2.1'));
  assert.deepEqual(await endAll(), ['later']);
});

test('when all places are taken, the one whose turn is last is refused; of equal ones the newest', async () => {
  const { ask, endAll, refused, settle } = heldQueue({ queueLimit: 3 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void ask(name, from('192.0.2.1'));
  void ask('b1', from('192.0.2.2'));
  void ask('c1', from('192.0.2.3'));
  void ask('d1', from('192.0.2.4'));
  void ask('e1', from('192.0.2.5'));
  void ask('ada', known('usr_ada'));
  await settle();
  assert.deepEqual(refused.toSorted(), ['a2 503', 'a3 503', 'a4 503', 'a5 503', 'e1 503']);
  assert.deepEqual(await endAll(), ['a1', 'ada', 'b1', 'c1', 'd1']);
});

test('a wait ends after a few seconds, and leaves its place to others', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { ask, endAll, refused, settle } = heldQueue({ perAccount: 2 });
  for (const name of ['runs', 'waits']) void ask(name, from('192.0.2.1'));
  t.mock.timers.tick(4999);
  await settle();
  assert.deepEqual(refused, []);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(refused, ['waits 503']);
  void ask('next', from('192.0.2.1'));
  assert.deepEqual(await endAll(), ['runs', 'next']);
});

test('a wait that would be too long, as hashes take at the moment, is refused at once', async () => {
  let ms = 0;
  const { ask, endAll, refused, settle } = heldQueue({ monotonic: () => ms });
  void ask('slow', from('192.0.2.1'));
  await settle();
  ms += 16_000; // an eighth of it counts
  await endAll();
  for (const name of ['a1', 'a2', 'a3', 'a4']) void ask(name, from('192.0.2.1'));
  void ask('b1', from('192.0.2.2'));
  await settle();
  assert.deepEqual(refused, ['a4 503']);
  assert.deepEqual(await endAll(), ['a1', 'b1', 'a2', 'a3']);
});
