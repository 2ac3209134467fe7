import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupCodeHash, newBackupCodes } from './backup-codes.ts';

test('ten codes of 120 bits each, all different', () => {
  const { codes, hashes } = newBackupCodes();
  assert.equal(codes.length, 10);
  for (const code of codes) assert.match(code, /^([0-9a-hjkmnp-tv-z]{4}-){5}[0-9a-hjkmnp-tv-z]{4}$/);
  assert.equal(new Set(hashes).size, 10);
  assert.deepEqual(codes.map(backupCodeHash), hashes);
});

test('a code may be typed as people read it', () => {
  const hash = backupCodeHash('0123-4567-89ab-cdef-ghjk-1m0p');
  assert.ok(hash);
  const typed = [
    '0123456789abcdefghjk1m0p',
    ' O123 4567 89AB CDEF GHJK LMOP ',
    'ol23–4567–89ab–cdef–ghjk–im0p',
    '０123-4567-89ab-cdef-ghjk-1m0p',
  ];
  for (const text of typed) assert.equal(backupCodeHash(text), hash, text);
});

test('nothing else is a backup code', () => {
  for (const text of [
    '',
    '123456',
    '0123-4567-89ab-cdef-ghjk-1m0',
    '0123-4567-89ab-cdef-ghjk-1m0pp',
    'u123-4567-89ab-cdef-ghjk-1m0p',
  ]) {
    assert.equal(backupCodeHash(text), undefined, text);
  }
});
