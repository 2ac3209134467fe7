import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { list, table, terminalLayout, time } from './report.ts';

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

const id = (letter: string) => `usr_${letter.repeat(22)}`;
const headings = ['USER', 'EMAIL', 'NAME', 'STATUS', 'LAST SIGN-IN', 'CREATED'];
const rows = [
  headings,
  [id('a'), 'a-rather-long-address@mail.example.com', 'Ada Lovelace of Ockham', 'active', time(1), time(1)],
  [id('b'), 'b@example.com', '日本語の名前がここに', 'disabled', null, time(1)],
];
const onTerminal = (columns: number | undefined, colors = false) =>
  terminalLayout.run({ columns, colors }, () => list(rows));

test('a list fits a terminal: text is shortened, ids are whole, and what has no room is named', () => {
  assert.deepEqual([list(rows), onTerminal(undefined)], [table(rows), table(rows)], 'elsewhere it is whole');
  assert.equal(onTerminal(200).replaceAll(/ +/g, ' '), list(rows).replaceAll(/ +/g, ' '));
  const at110 = onTerminal(110);
  assert.match(at110, /a-rather-long-address@mail\.example\.com {2}Ada Lovelace of Ockham {2}active/);
  assert.match(
    at110,
    /The same in every row:\n {2}CREATED 1970-01-01T00:00:01Z\n\nNot shown, for lack of width: LAST SIGN-IN\./,
  );
  assert.match(onTerminal(121), / {2}1970-01-01 00:00\n/);
  assert.equal(
    terminalLayout.run({ columns: 80, colors: false }, () => list([headings])),
    'No entries.',
  );
  assert.equal(list([headings]), table([headings]), 'a program finds the headings');
  const delivery = `msg_${'m'.repeat(22)}.wh_${'w'.repeat(22)}`;
  const deliveries = () =>
    list([
      ['DELIVERY', 'EVENT', 'LAST ERROR'],
      [delivery, 'user.created', 'x'.repeat(99)],
    ]);
  assert.ok(terminalLayout.run({ columns: 80, colors: false }, deliveries).includes(delivery), 'it can be resent');
  const at80 = onTerminal(80);
  assert.match(at80, /a-rather-long-address@mail\.example\.com {2}Ada Lovel…/);
  assert.match(at80, /\n\nNot shown, for lack of width: STATUS, LAST SIGN-IN\. Everything: --wide$/);
  for (const [text, columns] of [
    [at110, 110],
    [at80, 80],
    [onTerminal(60), 60],
  ] as const) {
    for (const line of text.split('\n\n')[0]?.split('\n') ?? []) {
      const wide = line.match(/[\u3041-\u9fff]/g)?.length ?? 0;
      assert.ok(line.length + wide <= columns, line);
    }
    assert.ok(text.includes(id('a')) && text.includes(id('b')), text);
  }
});

test('at 80 and 100 columns a queue of clients has its names, and a log its actions', () => {
  const queue = [
    ['CLIENT', 'STATUS', 'REVISION', 'TYPE', 'RISKS', 'NAME'],
    ...['Field Notes for Teachers', 'Invoices', 'Map of the Alps'].map((name, place) => [
      `cl_${'c'.repeat(21)}${place}`,
      'pending_review',
      'r1',
      place === 0 ? 'public' : 'confidential',
      place === 1 ? '1 warning, 2 notices' : 'none',
      name,
    ]),
  ];
  const event = (action: string, seq: number) => [seq, time(seq), action, `user:${id('a')}`, id('b'), null];
  const log = [
    ['SEQ', 'WHEN', 'ACTION', 'ACTOR', 'TARGET', 'REASON'],
    event('session.ended', 1),
    event('client.change_approved', 2),
  ];
  for (const columns of [80, 100]) {
    const shown = terminalLayout.run({ columns, colors: false }, () => `${list(queue)}\n${list(log)}`);
    for (const line of shown.split('\n')) assert.ok(line.length <= columns, line);
    for (const text of ['Field Notes for Teachers', 'STATUS pending_review', 'session.ended', 'client.change_approved'])
      assert.ok(shown.includes(text), `${columns}: ${text}\n${shown}`);
    assert.ok(shown.includes(`cl_${'c'.repeat(21)}0`) && shown.includes(`user:${id('a')}`), 'ids can be typed again');
  }
});

test('states alone have a color, and only where there are colors', () => {
  assert.ok(onTerminal(undefined, true).includes(' \u001b[32mactive\u001b[0m    1970'));
  assert.equal(stripVTControlCharacters(onTerminal(80, true)), onTerminal(80));
  const shown = () =>
    table([
      ['Status', 'suspended'],
      ['Name', 'active'],
    ]);
  assert.equal(terminalLayout.run({ colors: true }, shown), '  Status  \u001b[31msuspended\u001b[0m\n  Name    active');
  assert.ok(!shown().includes('\u001b'));
});
