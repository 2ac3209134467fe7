import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvCell } from './csv.ts';

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
