import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutcomeUnknown, StoreUnavailable } from './db.ts';
import { commitError } from './sqlite-errors.ts';

const thrown = (errcode: number) => Object.assign(new Error('from SQLite'), { errcode });

test('a commit that failed before its mark was written is refused; one that failed later is unknown', () => {
  for (const code of [13, 778, 787, 5, 517]) {
    const error = commitError(thrown(code));
    assert.ok(error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown), String(code));
  }
  const unknown = [1034 /* FSYNC */, 1290 /* DIR_FSYNC */, 4874 /* SHMSIZE */, 10, 11];
  for (const code of unknown) assert.ok(commitError(thrown(code)) instanceof OutcomeUnknown, String(code));
  assert.ok(commitError(new Error('of an unknown kind')) instanceof OutcomeUnknown);
});
