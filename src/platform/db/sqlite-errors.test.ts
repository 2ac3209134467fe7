import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ForeignKeyViolation, OutcomeUnknown, StoreUnavailable, UniqueViolation } from './db.ts';
import { commitError, storeError } from './sqlite-errors.ts';

const thrown = (errcode: number, message = 'from SQLite') => Object.assign(new Error(message), { errcode });

/** Extended codes have their primary one as the last byte. */
const extended = (primary: number) => [primary, primary + 256, primary + 5 * 256];

test('what SQLite cannot do now, or with this file, is an outage, with a sentence of its own for what an operator mends', () => {
  const sentences = new Map<number, string>();
  for (const primary of [2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 17, 22, 26]) {
    for (const code of extended(primary)) {
      const error = storeError(thrown(code));
      assert.ok(error instanceof StoreUnavailable, String(code));
      sentences.set(primary, error.message);
    }
  }
  const [readOnly, broken, damaged, full, closed] = [8, 10, 11, 13, 14].map((code) => sentences.get(code));
  assert.match(readOnly!, /read-only, or its owner or mode/);
  assert.match(broken!, /disk of the database failed/);
  assert.match(damaged!, /damaged/);
  assert.match(full!, /full/);
  assert.match(closed!, /cannot be opened/);
});

test('what SQLite says of a statement is ours to mend, but for duplicates and orphans', () => {
  for (const primary of [1, 4, 12, 16, 18, 20, 21, 23, 24, 25]) {
    for (const code of extended(primary)) {
      const error = thrown(code);
      assert.equal(storeError(error), error, String(code));
    }
  }
  for (const code of [1299 /* NOTNULL */, 275 /* CHECK */])
    assert.ok(!(storeError(thrown(code)) instanceof StoreUnavailable));
  for (const code of [1555, 2067, 2579]) assert.ok(storeError(thrown(code)) instanceof UniqueViolation);
  assert.ok(storeError(thrown(787)) instanceof ForeignKeyViolation);
});

test('a commit that failed before its mark was written is refused; one that failed later is unknown', () => {
  for (const code of [13, 778, 787, 5, 517]) {
    const error = commitError(thrown(code));
    assert.ok(error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown), String(code));
  }
  const unknown = [1034 /* FSYNC */, 1290 /* DIR_FSYNC */, 4874 /* SHMSIZE */, 10, 11];
  for (const code of unknown) assert.ok(commitError(thrown(code)) instanceof OutcomeUnknown, String(code));
  assert.ok(commitError(new Error('of an unknown kind')) instanceof OutcomeUnknown);
});
