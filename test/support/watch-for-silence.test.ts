import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { watchForSilence } from './watch-for-silence.ts';

const event = (type: 'test:dequeue' | 'test:complete', name: string) =>
  ({ type, data: { name, nesting: 0, file: 'a.test.ts' } }) as TestEvent;

test('a run whose test waits for what never comes is ended, and the test is named', async (t) => {
  const said = t.mock.method(console, 'error', () => undefined);
  const abort = new AbortController();
  async function* events(): AsyncGenerator<TestEvent> {
    yield* [event('test:dequeue', 'quick'), event('test:complete', 'quick'), event('test:dequeue', 'stuck')];
    await new Promise((resolve) => abort.signal.addEventListener('abort', resolve));
  }
  const seen = await Array.fromAsync(watchForSilence(events(), abort, 1));
  assert.equal(seen.length, 3);
  assert.match(String(said.mock.calls[0]?.arguments[0]), /Under way: stuck$/);
});
