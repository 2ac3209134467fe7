import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, inline, linksIn, plainText } from './markdown.ts';

const rendered = (text: string) => inline(text, (href) => (href === 'gone.md' ? undefined : href)).toString();

test('texts are escaped, whatever they contain, and marks within code are none', () => {
  assert.equal(rendered('<b> & `<i> **x** _y_`'), '&lt;b&gt; &amp; <code>&lt;i&gt; **x** _y_</code>');
  assert.equal(rendered('`` a `tick` ``'), '<code> a `tick` </code>');
  assert.equal(rendered('snake_case_name and _a name_'), 'snake_case_name and <em>a name</em>');
  assert.equal(rendered('**[`x`](a.md#b "t)**'), '<strong>[<code>x</code>](a.md#b &quot;t)</strong>', 'no titles');
  assert.equal(
    rendered('[one](https://x.test/?a=1&b="2")'),
    '<a href="https://x.test/?a=1&amp;b=&quot;2&quot;">one</a>',
  );
});

test('a link to what is not here is its text', () => {
  assert.equal(
    rendered('see [that `page`](gone.md), [this](here.md)'),
    'see that <code>page</code>, <a href="here.md">this</a>',
  );
  assert.equal(plainText('see [that `page`](gone.md) at <https://x.test>'), 'see that page at https://x.test');
});

test('blocks: an item goes on in the next line, a cell may contain a bar, code is left as it is', () => {
  const text =
    '# A\n\none\ntwo\n\n- first\n  goes on\n- [b](b.md)\n\n| a | b |\n| --- | --- |\n| x \\| y | |\n\n```js\n# no\n\n- no\n```\n## A\n';
  const blocks = blocksOf(text);
  assert.deepEqual(blocks, [
    { kind: 'heading', level: 1, text: 'A', id: 'a' },
    { kind: 'paragraph', text: 'one two' },
    { kind: 'list', isOrdered: false, items: ['first goes on', '[b](b.md)'] },
    { kind: 'table', header: ['a', 'b'], rows: [['x | y', '']] },
    { kind: 'code', text: '# no\n\n- no' },
    { kind: 'heading', level: 2, text: 'A', id: 'a-1' },
  ]);
  assert.deepEqual(linksIn(blocks), ['b.md']);
});
