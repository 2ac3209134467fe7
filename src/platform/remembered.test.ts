import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remembered } from './remembered.ts';

test('a text that comes again is answered with what was given before', () => {
  const made: string[] = [];
  const words = remembered((text) => {
    made.push(text);
    return text.split(' ');
  });
  assert.deepEqual(words('a b'), ['a', 'b']);
  assert.equal(words('a b'), words('a b'));
  assert.deepEqual(made, ['a b']);
});

test('many texts, and long ones, do not stay in memory', () => {
  let made = 0;
  const lengths = remembered((text) => {
    made += 1;
    return { length: text.length };
  });
  for (let at = 0; at < 1000; at += 1) lengths(`${at}`);
  assert.equal(made, 1000);
  lengths('999');
  assert.equal(made, 1000);
  lengths('0');
  assert.equal(made, 1001);
  const long = 'a'.repeat(501);
  lengths(long);
  assert.deepEqual(lengths(long), { length: 501 });
  assert.equal(made, 1003);
});

test('what cannot be made is tried again', () => {
  let fails = true;
  const parsed = remembered((text) => {
    if (fails) throw new TypeError(text);
    return [text];
  });
  assert.throws(() => parsed('a'), TypeError);
  fails = false;
  assert.deepEqual(parsed('a'), ['a']);
});
