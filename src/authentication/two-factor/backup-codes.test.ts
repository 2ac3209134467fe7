import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openVault } from '../../platform/vault.ts';
import { backupCodeHashes, newBackupCodes } from './backup-codes.ts';

const deps = { vault: openVault(Buffer.alloc(32, 1)) };
const hashOf = (code: string) => backupCodeHashes(deps, 'usr_ada', code)?.[0];

test('MF-04: ten codes of 65 bits each, all different', () => {
  const { codes, hashes } = newBackupCodes(deps, 'usr_ada');
  assert.equal(codes.length, 10);
  for (const code of codes) assert.match(code, /^[0-9a-hjkmnp-tv-z]{4}-[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{4}$/);
  assert.equal(new Set(hashes).size, 10);
  assert.deepEqual(codes.map(hashOf), hashes);
});

test('what is stored of a code cannot be tried without the master key, nor for two users at once', () => {
  const elsewhere = { vault: openVault(Buffer.alloc(32, 2)) };
  const code = '0123-45678-9abc';
  const hashes = [
    hashOf(code),
    backupCodeHashes(elsewhere, 'usr_ada', code)?.[0],
    backupCodeHashes(deps, 'usr_eve', code)?.[0],
  ];
  assert.equal(new Set(hashes).size, 3);
});

test('a code may be typed as people read it', () => {
  const hash = hashOf('0123-4567j-1m0p');
  assert.ok(hash);
  for (const text of ['01234567j1m0p', ' O123 4567J LMOP ', 'ol23–4567j–im0p', '０123-4567j-1m0p']) {
    assert.equal(hashOf(text), hash, text);
  }
});

test('a code of an earlier version, of 24 characters, stays valid', () => {
  assert.equal(hashOf('0123-4567-89AB-cdef-ghjk-1m0p'), '1FyrakJ3zgav8vpR5zate1ZLMdMI_GkP-ss1JUAofMY');
});

test('nothing else is a backup code', () => {
  for (const text of ['', '123456', '0123-4567j-1m0', '0123-4567j-1m0pp', 'u123-4567j-1m0p']) {
    assert.equal(hashOf(text), undefined, text);
  }
});
