/** For `documents.test.ts`, which runs it by `npm run test:one`; the name keeps it out of `npm test`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

test('outer', async (t) => {
  console.log('the set-up');
  await t.test('inner that passes', () => {});
  await t.test('inner that fails', async (t) => {
    await t.test('innermost', () => console.log('the innermost case'));
    assert.fail('as it should');
  });
});

test('another', () => console.log('another case'));
