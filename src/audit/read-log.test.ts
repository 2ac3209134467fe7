import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvCell, parseTime } from './read-log.ts';

const cells: [string | number | null, string][] = [
  [null, ''],
  [7, '7'],
  [-7, '-7'], // a number of ours, and no formula
  ['client.approved', 'client.approved'],
  ['=1+1', `"'=1+1"`],
  ['+49 30', `"'+49 30"`],
  ['-2', `"'-2"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['\t=1', `"'\t'=1"`],
  ['a;=1', `"a;'=1"`],
  ['a\t @SUM(A1)', `"a\t '@SUM(A1)"`],
  ['a|-1', `"a|'-1"`],
  ['two\n+1', `"two\n'+1"`],
  ['a; b', 'a; b'],
  ['=HYPERLINK("https://evil.example","x")', `"'=HYPERLINK(""https://evil.example"",""x"")"`],
  ['＝1', `"'＝1"`],
  ['a,b', '"a,b"'],
  ['say "no"', '"say ""no"""'],
  ['two\nlines', '"two\nlines"'],
  ['{"name":"=1"}', '"{""name"":""=1""}"'],
];
for (const [value, cell] of cells) {
  test(`a cell of ${JSON.stringify(value)}`, () => assert.equal(csvCell(value), cell));
}

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
