import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnavailable } from './db.ts';
import { onFullDisk } from './open.ts';

test('a start that failed on a full disk says that the disk is full', () => {
  const cause = new Error('disk I/O error');
  const error = new StoreUnavailable('SQLite did not respond.', { cause });
  const told = onFullDisk(error, '/var/lib/signet', 4096);
  assert.ok(told instanceof StoreUnavailable && told.cause === cause);
  assert.match(told.message, /disk that holds \/var\/lib\/signet is full: 4 KB are free.*Free some space/);
  assert.equal(onFullDisk(error, '/var/lib/signet', 10 ** 9), error, 'another reason');
  assert.equal(onFullDisk(error, '/nowhere/at/all'), error, 'a disk that cannot be asked');
  const other = new Error('ours');
  assert.equal(onFullDisk(other, '/var/lib/signet', 0), other);
});
