import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { localPath } from './return-target.ts';

const base = 'https://id.example.com';
const host = 'id.example.com';
const long = (length: number, end = '') => `/${'a'.repeat(length - 1 - end.length)}${end}`;

/** What is refused. */
const evil: readonly unknown[] = [
  // Other origins, plain and behind what a browser ignores or rewrites.
  'https://evil.example',
  'https://evil.example/account',
  'http://id.example.com/account',
  'https:evil.example',
  '//evil.example',
  '//evil.example/account',
  '///evil.example',
  '////evil.example//',
  `//${host}.evil.example`,
  `//${host}:444/`,
  `//${host}@evil.example/`,
  `//user:word@evil.example/`,
  `//evil.example\\@${host}/`,
  '/\\evil.example',
  '/\\/evil.example',
  '\\\\evil.example',
  '\\/evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  '/\t\\\tevil.example',
  '\t//evil.example',
  ' //evil.example',
  '\0//evil.example',
  '／／evil.example',
  // Paths of two slashes: harmless when they are resolved once, another host when they are resolved again.
  '/.//evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/./\\evil.example',
  '/.\\/evil.example',
  '/%2e//evil.example',
  '/%2E%2e//evil.example',
  '/a/%2e%2e//evil.example',
  '/.\t//evil.example',
  `/.//${host}///${host}//evil.example`,
  `//${host}//evil.example`,
  `//${host}/.//evil.example`,
  // No paths.
  'account',
  './account',
  '../account',
  '?next=/account',
  '#account',
  '',
  ' ',
  ' /account',
  '\t/account',
  `${base}/account`,
  'javascript:alert(1)',
  'data:text/html,x',
  'mailto:a@example.com',
  'blob:https://id.example.com/x',
  // What no URL is.
  '//[',
  '//[::1',
  '//a b/',
  '//%00/',
  '//id.example.com:99999/',
  // No text.
  undefined,
  null,
  0,
  true,
  {},
  ['/account'],
  Object('/account'),
  { startsWith: () => true, length: 1, toString: () => '/account' },
  // Too long, as it comes or as it is written.
  long(2001),
  `/${'./'.repeat(1000)}`,
  `/${'ü'.repeat(400)}`,
  `/${' '.repeat(700)}a`,
  `/?${'"'.repeat(700)}`,
  `/#${' '.repeat(700)}a`,
];

/** What is kept, and how it is written. */
const good: readonly [next: string, path: string][] = [
  ['/', '/'],
  ['/account', '/account'],
  ['/account/apps?a=b&c=%2F%2Fevil.example#d', '/account/apps?a=b&c=%2F%2Fevil.example#d'],
  ['/account?next=//evil.example', '/account?next=//evil.example'],
  ['/account?next=https://evil.example/', '/account?next=https://evil.example/'],
  ['/account#//evil.example', '/account#//evil.example'],
  ['/?//evil.example', '/?//evil.example'],
  ['/#//evil.example', '/#//evil.example'],
  ['/a//evil.example', '/a//evil.example'],
  ['/@evil.example', '/@evil.example'],
  ['/:@evil.example', '/:@evil.example'],
  ['/evil.example', '/evil.example'],
  ['/https://evil.example', '/https://evil.example'],
  ['/javascript:alert(1)', '/javascript:alert(1)'],
  ['/../../account', '/account'],
  ['/a/./b/../c', '/a/c'],
  ['/%2F%2Fevil.example', '/%2F%2Fevil.example'],
  ['/%2f%2fevil.example', '/%2f%2fevil.example'],
  ['/%5C%5Cevil.example', '/%5C%5Cevil.example'],
  ['/%09/evil.example', '/%09/evil.example'],
  ['/%0d%0aset-cookie:%20a=b', '/%0d%0aset-cookie:%20a=b'],
  ['/a\\b', '/a/b'],
  ['/a\tb\r\nc', '/abc'],
  ['/a\u0001b\u007f', '/a%01b%7F'],
  ['/／evil.example', '/%EF%BC%8Fevil.example'],
  ['/．．／／evil.example', '/%EF%BC%8E%EF%BC%8E%EF%BC%8F%EF%BC%8Fevil.example'],
  ['/\ud800', '/%EF%BF%BD'],
  ['/"><script>', '/%22%3E%3Cscript%3E'],
  ['/account ', '/account'],
  [`//${host}/account`, '/account'],
  [`//user:word@${host}/account`, '/account'],
  [`//${host}:443/account`, '/account'],
  ['/\u2028/evil.example', '/%E2%80%A8/evil.example'],
  [long(2000), long(2000)],
];

/** Wherever it is resolved, and however often it is looked at again. */
function assertSafe(path: string, origin = base): void {
  assert.match(path, /^\/(?![/\\])[\x21-\x7e]*$/, 'visible ASCII, one slash first');
  assert.ok(path.length <= 2000);
  assert.equal(localPath(path, origin), path, 'a fixed point');
  for (const page of ['/', '/signin', '/signin/confirm?next=/a', '/a//b/', '//a/b', '/oauth/authorize/continue']) {
    const url = new URL(path, origin + page);
    assert.equal(url.origin, origin);
    assert.equal(url.username + url.password, '');
    assert.equal(url.pathname + url.search + url.hash, path);
  }
}

test('next: what does not lead to our own origin, each time it is resolved, is refused', () => {
  for (const next of evil) assert.equal(localPath(next, base), undefined, JSON.stringify(next));
});

test('next: a path of ours is kept as the URL parser writes it', () => {
  for (const [next, path] of good) {
    assert.equal(localPath(next, base), path, JSON.stringify(next));
    assertSafe(path);
  }
});

test('next: whatever is made of the parts of such attacks, the answer stays on our origin', (t) => {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const parts = [
    ...['/', '//', '\\', '.', '..', '%2e', '%2F', '%5c', '@', ':', '?', '#', '&', ';', '%', '[', ']'],
    ...[
      '\t',
      '\n',
      '\r',
      '\0',
      ' ',
      '\u00a0',
      '\u2028',
      '\ud800',
      '／',
      '．',
      '。',
      '＼',
      '：',
      '＠',
      'ü',
      '"',
      "'",
      '<',
    ],
    ...[host, 'evil.example', 'https:', 'javascript:', 'account', '443', 'a'],
  ];
  const nexts = fc
    .array(fc.oneof(fc.constantFrom(...parts), fc.string({ maxLength: 3, unit: 'binary' })), { maxLength: 14 })
    .map((some) => some.join(''));
  const origins = fc.constantFrom(base, 'http://localhost:3000', 'http://[::1]:8080');
  fc.assert(
    fc.property(fc.boolean(), nexts, origins, (startsAsPath, text, origin) => {
      const path = localPath(startsAsPath ? `/${text}` : text, origin);
      if (path !== undefined) assertSafe(path, origin);
    }),
    { seed, numRuns: 1_500 },
  );
});
