import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { evenTimes } from './even-times.ts';

const day = 24 * 60 * 60 * 1000;

/** Checks of passwords that take as long as they are told to. */
function checks() {
  let at = 0;
  const even = evenTimes(() => at);
  /** @returns how long the answer waits after the check. */
  const waitOf = async (ms: number, isToday: boolean): Promise<number> => {
    const check = async () => {
      at += ms;
      return false;
    };
    return (await even(check, isToday)).rest;
  };
  const pass = (ms: number) => {
    at += ms;
  };
  return { today: (ms: number) => waitOf(ms, true), other: (ms: number) => waitOf(ms, false), pass };
}

test('without hashes of other products nobody waits', async () => {
  const { today } = checks();
  for (const ms of [20, 30, 20]) assert.equal(await today(ms), 0);
});

test('a check of our own hash, or of none, waits until it took as long as that of another product', async () => {
  const { today, other } = checks();
  await today(20);
  assert.equal(await other(250), 0);
  assert.equal(await today(20), 230);
  assert.equal(await today(50), 200);
  assert.equal(await today(300), 0);
});

test('a quicker one of another product waits as well', async () => {
  const { today, other } = checks();
  await today(20);
  assert.equal(await other(4), 16);
  await other(250);
  assert.ok((await other(4)) > 200);
});

test('a single slow one is forgotten when others are quick, and all of them after a day', async () => {
  const { today, other, pass } = checks();
  await other(900);
  for (let count = 0; count < 40; count += 1) await other(50);
  assert.ok((await today(20)) < 40);
  await other(250);
  pass(day);
  assert.equal(await today(20), 0);
});

test('nobody waits for more than a second', async () => {
  const { today, other } = checks();
  await other(30_000);
  assert.equal(await today(20), 980);
});

test('a check that fails is no measure', async () => {
  const even = evenTimes(() => 0);
  const failing = async () => {
    await turn();
    throw new Error('it failed');
  };
  await assert.rejects(even(failing, false), /it failed/);
  assert.equal((await even(async () => true, true)).rest, 0);
});
