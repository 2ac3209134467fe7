import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untrusted, untrustedEmail, untrustedUrl } from './pages/html.ts';
import { clientInitials, displayNameProblem, isSeen, textPatterns, visibleText } from './text.ts';

test('what cannot be seen is written out, and what can is left alone', () => {
  assert.equal(visibleText('Ada \u202egnp.exe\u200b'), 'Ada [U+202E]gnp.exe[U+200B]');
  assert.equal(visibleText('a\u0000b\u2028c\u3164d\ue000e'), 'a[U+0000]b[U+2028]c[U+3164]d[U+E000]e');
  for (const text of ['Ада', 'שלום', 'José 🙂', 'two\nlines']) assert.equal(visibleText(text), text);
});

test('a pattern of the API description means the same with and without the flag u, and the same as the code', () => {
  const refused = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u2065\ufff0-\ufff8]/u;
  const both = (pattern: string) => ['', 'u'].map((flags) => new RegExp(pattern, flags));
  for (let code = 0; code <= 0xffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const text = `a${String.fromCharCode(code)}b`;
    const expected = !refused.test(text);
    assert.equal(isSeen(text), expected, code.toString(16));
    for (const pattern of both(textPatterns.seen)) assert.equal(pattern.test(text), expected, code.toString(16));
    const alone = String.fromCharCode(code);
    for (const pattern of both(textPatterns.visible)) {
      assert.equal(pattern.test(alone), expected && !/\p{Zs}/u.test(alone), code.toString(16));
    }
    if (displayNameProblem(alone) === undefined)
      for (const pattern of both(textPatterns.name)) assert.ok(pattern.test(alone), code.toString(16));
  }
  for (const pattern of both(textPatterns.seen)) assert.ok(pattern.test('🙂'));
  assert.ok(isSeen('🙂'));
  assert.ok(!isSeen('tagged\u{e0041}'));
  assert.ok(!isSeen('half \ud83d'));
  for (const pattern of both(textPatterns.paragraph)) {
    assert.ok(pattern.test('two\nlines'));
    for (const text of ['', ' ', '\n', 'a\tb', 'a\u0000']) assert.ok(!pattern.test(text), text);
  }
});

test('a text ends, and no character is cut in two', () => {
  assert.equal(visibleText('W'.repeat(300)), `${'W'.repeat(100)}…`);
  assert.equal(visibleText('🙂'.repeat(101)), `${'🙂'.repeat(100)}…`);
  assert.equal(visibleText('W'.repeat(100)), 'W'.repeat(100));
});

test('markup is text, with its direction kept to itself', () => {
  assert.equal(untrusted('<b>').toString(), '<bdi>&lt;b&gt;</bdi>');
});

test('of an address the host stands out, and nothing of it can be followed', () => {
  const shown = (url: string) => untrustedUrl(url).toString().replaceAll('<wbr>', '');
  assert.match(
    shown('https://rp.test/cb?a=1'),
    /https:\/\/<\/bdi><strong><bdi>rp\.test<\/bdi><\/strong><bdi>\/cb\?a=1/,
  );
  assert.match(shown('https://rp.test@evil.example/'), /<strong><bdi>rp\.test@evil\.example<\/bdi><\/strong>/);
  assert.equal(shown('javascript:alert(1)'), '<code><bdi>javascript:alert(1)</bdi></code>');
  for (const behind of ['//accounts.google.com/cb', '/cb'])
    assert.equal(
      shown(`com.example.app:${behind}`),
      `<code><strong><bdi>com.example.app:</bdi></strong><bdi>${behind}</bdi></code>`,
    );
  assert.match(
    untrustedUrl('https://rp.test/a-b/and-so-on-and-on').toString(),
    /<bdi>\/<wbr>a-<wbr>b\/<wbr>and-<wbr>so/,
  );
  for (const url of ['https://rp.test/', 'javascript:x', '"><img>']) assert.doesNotMatch(shown(url), /href|src|<img/);
});

test('a mail address ends a line before its domain or after a dot, and one that fits on a line does not', () => {
  assert.equal(untrustedEmail('katherine@example.com').toString(), '<bdi>katherine@example.com</bdi>');
  assert.equal(
    untrustedEmail('augusta.lovelace@analytical-engine.example.com').toString(),
    '<bdi>augusta.<wbr>lovelace<wbr>@analytical-engine.<wbr>example.com</bdi>',
  );
});

test('initials stand for a logo', () => {
  assert.deepEqual(['Field Notes', 'signet', '  ', '\u202e', '<x>', '🙂 app'].map(clientInitials), [
    'FN',
    'S',
    '?',
    '?',
    '<',
    '🙂A',
  ]);
});
