import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { commonEnd, commonStart, nearestTo } from './failures.ts';

test('the redirect URI that was probably meant is the one that is most alike', () => {
  const registered = ['https://shop.test/cb', 'https://shop.test/admin/cb', 'http://localhost:3000/cb'];
  const meant = {
    'https://shop.test/cb/': registered[0],
    'http://shop.test/cb': registered[0],
    'https://shop.test/admin/callback': registered[1],
    'http://localhost:3001/cb': registered[2],
    'http://localhost:3000/': registered[2],
  };
  for (const [sent, expected] of Object.entries(meant)) assert.equal(nearestTo(registered, sent), expected, sent);
  assert.equal(nearestTo([], 'x'), undefined);
});

test('what two texts have in common is cut from both without cutting a character in half', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '😀', '😁', 'é'), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      const start = commonStart(one, other);
      const end = commonEnd(one.slice(start), other.slice(start));
      assert.equal(one.slice(0, start), other.slice(0, start));
      assert.equal(one.slice(one.length - end), other.slice(other.length - end));
      for (const whole of [one, other]) {
        const parts = [whole.slice(0, start), whole.slice(start, whole.length - end), whole.slice(whole.length - end)];
        assert.equal(parts.join(''), whole);
        assert.ok(parts.every((part) => part.isWellFormed()));
      }
    }),
    { numRuns: 2000 },
  );
});
