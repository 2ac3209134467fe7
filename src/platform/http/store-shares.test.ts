import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Db, type Part, StoreUnavailable } from '../db/db.ts';
import { currentRequest } from './current-request.ts';
import { shareStore } from './store-shares.ts';

/** A store that answers when it is let go. */
function heldStore(room: number, servers = ['']) {
  const held = Promise.withResolvers<never[]>();
  const answers = { query: () => held.promise, commit: () => held.promise };
  const parts = servers.map((_, part) => ({ ...answers, server: () => servers[part] }) as unknown as Part);
  shareStore({ room, parts } as unknown as Db);
  /** @returns how many of so many statements are accepted. */
  const ask = async (ip: string, count: number, steps = 0, part = 0): Promise<number> => {
    const db = parts[part]!;
    let accepted = count;
    const request = { response: {} as ServerResponse, id: '', hasChanged: false, requester: { ip } };
    const refused = (error: unknown) => {
      assert.ok(error instanceof StoreUnavailable);
      accepted -= 1;
    };
    currentRequest.run(request, () => {
      for (let nth = 0; nth < count; nth += 1) {
        if (steps === 0) db.query({ sql: '' }).catch(refused);
        else db.commit(Array.from({ length: steps }, () => ({ sql: '' }))).catch(refused);
      }
    });
    await turn();
    return accepted;
  };
  const letGo = () => {
    held.resolve([]);
    return turn();
  };
  const askPart = (part: number, ip: string, count: number) => ask(ip, count, 0, part);
  return { ask, askPart, letGo };
}

test('one address gets half of the places in the store, nine a tenth each, and there is one for another', async () => {
  const alone = heldStore(1000);
  assert.equal(await alone.ask('192.0.2.1', 2000), 550, 'the first 100 are not counted');
  assert.equal(await alone.ask('192.0.2.2', 50), 50);

  const many = heldStore(1000);
  const places = new Map<string, number>();
  for (let nth = 0; nth < 2_000; nth += 1) {
    const ip = `192.0.2.${nth % 9}`;
    places.set(ip, (places.get(ip) ?? 0) + (await many.ask(ip, 1)));
  }
  for (const count of places.values()) assert.ok(count >= 90 && count <= 115, `${count} places`);
  assert.ok((await many.ask('192.0.2.10', 20)) >= 20);
});

test('a change of several statements takes so many places, and an answer gives them back', async () => {
  const { ask, letGo } = heldStore(1000);
  const changes = await ask('192.0.2.1', 1000, 8);
  assert.ok(changes >= 50 && changes <= 56, `${changes} changes of eight statements`);
  await letGo();
  assert.equal(await ask('192.0.2.1', 500), 500);
});

test('parts of the store on one server share its room, and one that moves takes that of its new server', async () => {
  const servers = ['a', 'a', 'b'];
  const { askPart } = heldStore(1000, servers);
  assert.equal(await askPart(0, '192.0.2.1', 300), 300);
  assert.equal(await askPart(1, '192.0.2.1', 300), 250, 'the first 100 are not counted');
  assert.equal(await askPart(2, '192.0.2.1', 300), 300);
  servers[1] = 'b';
  assert.equal(await askPart(1, '192.0.2.1', 300), 250);
  assert.equal(await askPart(0, '192.0.2.1', 1), 0);
});
