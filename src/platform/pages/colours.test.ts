import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accentOn, backgrounds, buttonOn, contrast, inkOn, softInkOn } from './colours.ts';

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

const schemes = ['light', 'dark'] as const;

test('whatever colour a button has, the text on it is readable, and so is its outline where it is like its card', () => {
  for (const scheme of schemes) {
    const { card } = backgrounds[scheme];
    fc.assert(
      fc.property(anyColour, (chosen) => {
        const { button, hover, ink, edge } = buttonOn(chosen, scheme);
        for (const colour of [button, hover]) assert.ok(contrast(ink, colour) >= 4.5, `${chosen}: ${ink} on ${colour}`);
        assert.ok(contrast(edge, card) >= 3, `${chosen}: an edge of ${edge} on ${card}`);
      }),
      { numRuns: 1000, examples: [['#000000'], ['#ffffff'], ['#ffd400'], ['#777777'], ['#2f5d50'], ['#1e2220']] },
    );
  }
});

test('a button keeps its colour on light: yellow stays yellow, with dark text', () => {
  assert.deepEqual(buttonOn('#ffd400', 'light').button, '#ffd400');
  assert.equal(buttonOn('#ffd400', 'light').ink, '#0c110f');
  assert.equal(buttonOn('#ffd400', 'dark').button, '#ffd400');
  assert.deepEqual(buttonOn('#000000', 'light').button, '#000000');
  assert.equal(buttonOn('#000000', 'light').ink, '#ffffff');
  assert.ok(
    contrast(buttonOn('#000000', 'dark').button, backgrounds.dark.card) >= 7,
    'a black one is light in the dark',
  );
});

test('what stands on a background of any colour is readable', () => {
  fc.assert(
    fc.property(anyColour, (background) => {
      for (const ink of [inkOn(background), softInkOn(background)])
        assert.ok(contrast(ink, background) >= 4.5, `${ink} on ${background}`);
    }),
    { numRuns: 1000, examples: [['#777777'], ['#757575'], ['#ffd400'], ['#808000']] },
  );
});
