import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from './read-log.ts';

test('a day means its first or its last second; a time and Unix seconds mean themselves', () => {
  assert.equal(parseTime('2027-01-31', 'first'), Date.UTC(2027, 0, 31) / 1000);
  assert.equal(parseTime('2027-01-31', 'last'), Date.UTC(2027, 1, 1) / 1000 - 1);
  for (const text of ['2027-01-31T08:00Z', '2027-01-31t08:00:00z', '2027-01-31 08:00', '2027-01-31T10:00:00.5+02:00']) {
    assert.equal(parseTime(text, 'last'), Date.UTC(2027, 0, 31, 8) / 1000, text);
  }
  assert.equal(parseTime('1800000000', 'last'), 1_800_000_000);
});

test('what is no moment is none, also a day that the calendar does not have', () => {
  for (const text of [
    '',
    'yesterday',
    '2027-02-31',
    '2027-13-01',
    '2027-01-31T25:00',
    '2027-1-1',
    '-1',
    '20270131',
    '1'.repeat(12),
  ]) {
    assert.equal(parseTime(text, 'first'), undefined, text);
  }
});
