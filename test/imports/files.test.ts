import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordsOf } from '../../src/imports/files/read-file.ts';
import { FileDamaged, type FileRecord } from '../../src/imports/files/records.ts';
import { type Random, seededRandom } from '../support/seeded-random.ts';

/** Cut anywhere, also within a character. */
async function* pieces(text: string | Buffer, random?: Random): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    const length = random ? 1 + random.below(random.percent(50) ? 3 : 200) : bytes.length;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function read(text: string | Buffer, paths: string[][] = [], random?: Random): Promise<FileRecord[]> {
  return (await Array.fromAsync(recordsOf(pieces(text, random), paths))).flat();
}

const valuesOf = (records: readonly FileRecord[]) => records.map((one) => ('value' in one ? one.value : one.problem));

const texts = [
  '',
  'a',
  '"',
  '\\',
  '\\"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'é🐴',
  '\n',
  '\r\n',
  ' ',
  'users',
  '\u2028',
  '\ud83d',
];

/** JSON.parse itself misreads keys that have an escape (nodejs/node#63785). */
const keyTexts = texts.filter((text) => JSON.stringify(text) === `"${text}"`);

function anyValue(random: Random, depth = 0): unknown {
  const kind = random.below(depth > 3 ? 4 : 6);
  const many = () => Array.from({ length: random.below(4) });
  const text = (from = texts) =>
    many()
      .map(() => random.pick(from))
      .join('')
      .toWellFormed();
  if (kind === 0) return text();
  if (kind === 1) return random.below(1000) / 7;
  if (kind === 2) return random.pick([true, false, null]);
  if (kind === 3) return {};
  if (kind === 4) return many().map(() => anyValue(random, depth + 1));
  return Object.fromEntries(many().map(() => [text(keyTexts), anyValue(random, depth + 1)]));
}

const anyUser = (random: Random, number: number) => ({ number, about: anyValue(random) });

test('a document, a list and lines give the same users, wherever they are cut', async (t) => {
  const random = seededRandom(t);
  for (let round = 0; round < 200; round += 1) {
    const users = Array.from({ length: 1 + random.below(5) }, (_, number) => anyUser(random, number));
    const indent = random.pick([undefined, 1, '\t']);
    const document = {
      a: anyValue(random),
      orgs: [{ users: [], x: { users: [{ no: 1 }] } }, { users }],
      users: [{ no: 2 }],
    };
    const lines = users.map((one) => JSON.stringify(one)).join(random.pick(['\n', '\r\n', '\n\n']));
    for (const [text, paths] of [
      [JSON.stringify(document, null, indent), [['orgs', 'users']]],
      [JSON.stringify(users, null, indent), [['users']]],
      [lines, []],
    ] as const) {
      assert.deepEqual(valuesOf(await read(text, paths as unknown as string[][], random)), users);
    }
  }
});

test('a table of RFC 4180 gives its cells, wherever it is cut', async (t) => {
  const random = seededRandom(t);
  const cell = () =>
    Array.from({ length: random.below(5) }, () => random.pick(texts))
      .join('')
      .toWellFormed();
  const written = (text: string) =>
    /[",\r\n]/.test(text) || random.percent(20) ? `"${text.replaceAll('"', '""')}"` : text;
  for (let round = 0; round < 200; round += 1) {
    const rows = Array.from({ length: 1 + random.below(5) }, (_, number) => ({
      id: `n${number}`,
      a: cell(),
      b: cell(),
    }));
    const end = random.pick(['\n', '\r\n']);
    const text = [['id', 'a', 'b'], ...rows.map((row) => Object.values(row))]
      .map((row) => row.map(written).join(','))
      .join(end);
    const filled = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')));
    assert.deepEqual(valuesOf(await read(text + random.pick(['', end]), [], random)), filled);
  }
});

test('what is damaged is refused alone, and what ends early says so', async () => {
  const long = `{"a":"${'x'.repeat(300_000)}"}`;
  assert.deepEqual(valuesOf(await read(`{"a":1}\n{"a":\n${long}\n{"a":2}`)), [
    { a: 1 },
    'Is not valid JSON.',
    'Is too long for one user.',
    { a: 2 },
  ]);
  assert.deepEqual(valuesOf(await read(`[{"a":1},${long},{"a":1e},{"a":2}]`)), [
    { a: 1 },
    'Is too long for one user.',
    'Is not valid JSON.',
    { a: 2 },
  ]);
  assert.deepEqual(valuesOf(await read('a,b\n1\n2,3')), ['Has 1 cells, and the first row has 2.', { a: '2', b: '3' }]);
  for (const text of ['[{"a":1}', '[{"a":1}, {"b":', '[{"a":1}]]', '{"users":[', 'a,b\n1,"2', 'a,a\n1,2', 'a\n"1"2']) {
    await assert.rejects(read(text, [['users']]), FileDamaged, text);
  }
  await assert.rejects(read(Buffer.from([0x7b, 0xff, 0x7d])), FileDamaged);
});
