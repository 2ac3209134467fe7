import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matcherOf, rangesOf, termsOf } from './search-terms.ts';

const wordsOf = (query: string) => rangesOf(query).map(({ from }) => from);

test('a text is found by its words and their parts, without case and accents', () => {
  assert.deepEqual(termsOf('Anna.Smith+news@Example.COM'), [
    'anna.smith+news@example.com',
    'smith+news@example.com',
    'news@example.com',
    'example.com',
    'com',
  ]);
  assert.deepEqual(termsOf('Jean-Luc  ÅSTRÖM'), ['jean-luc', 'luc', 'astrom']);
  assert.deepEqual(termsOf('Łukasz Weiß Ærø'), ['lukasz', 'weiss', 'aero']);
  assert.deepEqual(termsOf('Ｗｉｄｅ ﬁve ΟΔΥΣΣΕΥΣ ışık'), ['wide', 'five', 'οδυσσευσ', 'isik']);
  assert.deepEqual(termsOf('"(the) best" ★ 100%'), ['the', 'best', '★', '100%']);
  assert.deepEqual(termsOf('a\u200bb\ud800'), ['ab']);
  assert.deepEqual(termsOf(' '), []);
});

test('a text in memory is found as one in a table', () => {
  const found = (query: string) => matcherOf(query)('Samsung Internet, Android 203.0.113.9');
  for (const query of ['andr sam', '203.0', '0.113.9', 'ÁNDROID']) assert.ok(found(query), query);
  for (const query of ['ndroid', '203.1', 'android iphone', ' ,']) assert.ok(!found(query), query);
});

test('what one text may cost is bounded', () => {
  assert.deepEqual(termsOf('x'.repeat(100)), ['x'.repeat(64)]);
  assert.deepEqual(termsOf('\u{1f600}'.repeat(100)), ['\u{1f600}'.repeat(64)]);
  assert.equal(termsOf(Array.from({ length: 50 }, (_, number) => number).join('.')).length, 12);
  assert.equal(wordsOf(Array.from({ length: 50 }, (_, number) => `${number}.`).join(' ')).length, 6);
  assert.equal(rangesOf('x'.repeat(10_000))[0]!.from.length, 64);
});

test('a query needs each of its words once, and signs before a word is not part of it', () => {
  assert.deepEqual(wordsOf('Ann smith Anna ANNA'), ['smith', 'anna']);
  assert.deepEqual(wordsOf('"Smith, Anna" <Anna.Smith@Example.com>'), ['smith', 'anna.smith@example.com']);
  assert.deepEqual(wordsOf('@anna ★'), ['anna', '★']);
  assert.deepEqual(wordsOf(' ,; '), []);
  const [{ from, to } = { from: '', to: '' }] = rangesOf('an');
  for (const term of ['an', 'an\u{10fffd}', 'anna'])
    assert.ok(term >= from && Buffer.compare(Buffer.from(term), Buffer.from(to)) < 0);
  assert.ok('ao' > to);
});
