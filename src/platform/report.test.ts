import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table, time } from './report.ts';

test('what others have chosen commands no terminal and begins no line of its own', () => {
  const forged = 'bored\n  9999  client.approved  cli\tcl_forged';
  const text = table([
    ['REASON', 'WHO'],
    [forged, '\u001b[2J\u009b31mAda\u202e'],
  ]);
  assert.equal(text.split('\n').length, 2);
  assert.doesNotMatch(text, /[^\P{C}\n]/u);
  assert.match(text, /bored {3}9999/);
});

test('a time beyond the calendar is a number, and none is a dash', () => {
  assert.equal(time(1_800_000_000), '2027-01-15T08:00:00Z');
  assert.equal(time(Number.MAX_SAFE_INTEGER), '9007199254740991');
  assert.deepEqual([time(null), time(undefined)], ['-', '-']);
});
