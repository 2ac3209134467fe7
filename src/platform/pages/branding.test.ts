import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accentOn, contrast } from './branding.ts';

const anyColour = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`);

test('contrast is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.equal(contrast('#777777', '#777777'), 1);
  assert.ok(Math.abs(contrast('#777777', '#ffffff') - 4.478) < 0.001);
  assert.equal(contrast('#123456', '#fedcba'), contrast('#fedcba', '#123456'));
});

test('whatever accent an operator chooses is readable on paper, and so is text on it', () => {
  for (const paper of ['#ffffff', '#f6f5f1', '#f0efe9', '#151816', '#1e2220', '#262b28']) {
    fc.assert(
      fc.property(anyColour, (chosen) => {
        const { accent, hover, ink } = accentOn(chosen, paper);
        for (const colour of [accent, hover]) {
          assert.match(colour, /^#[0-9a-f]{6}$/);
          assert.ok(contrast(colour, paper) >= 4.5, `${chosen} became ${colour} on ${paper}`);
          assert.ok(contrast(ink, colour) >= 4.5, `${chosen} became ${colour} under ${ink}`);
        }
        assert.notEqual(hover, accent);
      }),
      { numRuns: 500, examples: [['#000000'], ['#ffffff'], ['#ffff00'], ['#0000ff'], ['#2f5d50']] },
    );
  }
});

test('an accent that is readable already stays what it is', () => {
  assert.equal(accentOn('#2f5d50', '#f6f5f1').accent, '#2f5d50');
  assert.equal(accentOn('#7fc4ae', '#1e2220').accent, '#7fc4ae');
});
