import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIdleWatch } from './idle-memory.ts';

/** A second of an event loop after another. */
function secondsOf() {
  const loop = { requests: 0, active: 0, idle: 0 };
  const isTime = createIdleWatch({ ...loop });
  return (requests: number, active: number) => {
    loop.requests += requests;
    loop.active += active;
    loop.idle += 1000 - active;
    return isTime({ ...loop });
  };
}

test('memory is returned once after a start, and once after each load', () => {
  const second = secondsOf();
  assert.deepEqual(
    [second(0, 40), second(0, 2), second(5000, 900), second(0, 3), second(0, 2)],
    [true, false, false, true, false],
  );
});

test('no request waits for it: while some come, however few, it is not the time', () => {
  const second = secondsOf();
  for (let at = 0; at < 100; at += 1) assert.equal(second(1, 50), false);
  assert.equal(second(0, 1), true);
});

test('neither while jobs are at work, nor after a request now and then', () => {
  const second = secondsOf();
  assert.equal(second(0, 40), true);
  for (let at = 0; at < 100; at += 1) assert.equal(second(0, 750), false);
  assert.equal(second(0, 1), true);
  for (let at = 0; at < 100; at += 1) assert.equal(second(at % 2, 1), false);
});
