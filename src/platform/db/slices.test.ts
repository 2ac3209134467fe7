import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inSlices } from './slices.ts';

/** As what {@link AbortSignal.timeout} gives once its time is over. */
const turnIsOver = () => AbortSignal.abort(new DOMException('The turn is over.', 'TimeoutError'));

/** A job that walks over places, each turn from the first one. */
async function walk(rowsIn: number[], signal: AbortSignal): Promise<boolean> {
  for (const [place] of rowsIn.entries()) {
    const isDone = await inSlices(async (rows) => {
      const changed = Math.min(rows, rowsIn[place]!);
      rowsIn[place]! -= changed;
      return changed;
    }, signal);
    if (!isDone) return false;
  }
  return true;
}

test('a job comes further in each turn, however early the turn is over', async () => {
  const rowsIn = [0, 0, 0, 0, 0, 0, 0, 120];
  const left: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const isDone = await walk(rowsIn, turnIsOver());
    left.push(rowsIn.at(-1)!);
    assert.equal(isDone, left.at(-1) === 0);
    if (isDone) break;
  }
  assert.deepEqual(left, [70, 20, 0]);
});

test('a server that stops begins no slice', async () => {
  const rowsIn = [120];
  assert.ok(!(await walk(rowsIn, AbortSignal.abort())));
  assert.deepEqual(rowsIn, [120]);
});
