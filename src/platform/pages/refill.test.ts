import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { secretFields } from './kept-forms.ts';
import { refill } from './refill.ts';

const form = (action: string, fields: string) => `<form method="post" action="${action}">${fields}</form>`;
const page = `<details><summary>Menu</summary>${form('/out', '')}</details>
<details><summary>More</summary><details open><summary>Reject</summary>${form(
  '/reject?a=1&amp;b=2',
  `<input type="hidden" name="drawn_for" value="usr_1"><input type="hidden" name="revision" value="3">
<input name="title" required
 value="old"><input name="empty" value="old"><input id="p" name="password" type="password">
<input name="username" value="ada" readonly hidden><input name="like" value=" readonly">
<textarea name="reason" rows="2"></textarea><textarea name="other">was &lt;b&gt;</textarea>
<label><input type="checkbox" name="a" value="on" checked> a</label><label><input type="checkbox" name="b" value="on"> b</label>
<input type="radio" name="r" value="one" checked><input type="radio" name="r" value="two">
<select name="s"><option value="x" selected>x</option><option value="y">y</option></select>
<select name="z"><option value="">none
<option selected>a b
<option>c d
</select>`,
)}</details></details>`;

test('the form that was typed is filled in, escaped, with its details open; passwords and hidden fields stay', () => {
  const title = '"><script>';
  const reason = '</textarea>\n$& done';
  const typed = {
    title,
    reason,
    b: 'on',
    r: 'two',
    s: 'y',
    z: 'c d',
    password: 'x',
    revision: '2',
    username: 'eve',
    like: 'so',
  };
  const filled = refill(page, '/reject?a=1&b=2', typed);
  assert.equal(
    filled,
    `<details><summary>Menu</summary>${form('/out', '')}</details>
<details open><summary>More</summary><details open><summary>Reject</summary>${form(
      '/reject?a=1&amp;b=2',
      `<input type="hidden" name="drawn_for" value="usr_1"><input type="hidden" name="revision" value="3">
<input name="title" required
 value="&quot;&gt;&lt;script&gt;"><input name="empty" value=""><input id="p" name="password" type="password">
<input name="username" value="ada" readonly hidden><input name="like" value="so">
<textarea name="reason" rows="2">\n&lt;/textarea&gt;\n$&amp; done</textarea><textarea name="other">\n</textarea>
<label><input type="checkbox" name="a" value="on"> a</label><label><input type="checkbox" name="b" value="on" checked> b</label>
<input type="radio" name="r" value="one"><input type="radio" name="r" value="two" checked>
<select name="s"><option value="x">x</option><option value="y" selected>y</option></select>
<select name="z"><option value="">none
<option>a b
<option selected>c d
</select>`,
    ).replace('<form', '<form id="kept"')}</details></details>`,
  );
});

test('of several forms with one path the one of the same thing is filled in, and none where it is gone', () => {
  const row = (id: string) => form('/end', `<input type="hidden" name="id" value="${id}"><input name="why" value="">`);
  const filled = refill(row('one') + row('two'), '/end', { id: 'two', why: 'lost' });
  const kept = row('two').replace('<form', '<form id="kept"').replace('value="">', 'value="lost">');
  assert.equal(filled, row('one') + kept);
  assert.equal(refill(row('one') + row('two'), '/end', { id: 'three', why: 'lost' }), undefined);
  assert.equal(refill(row('one'), '/elsewhere', { why: 'lost' }), undefined);
});

test('fields of passwords, codes and credentials are never kept', () => {
  const root = new URL('../../', import.meta.url).pathname;
  const inputs = globSync('**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(root + file, 'utf8').matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag));
  const secret = inputs.filter((tag) => /type="password"|autocomplete="(?:one-time-code|new-password)"/.test(tag));
  assert.ok(secret.length > 1, 'the test finds the inputs');
  for (const tag of secret)
    assert.ok(
      secretFields.some((name) => tag.includes(`name="${name}"`)),
      tag,
    );
});
