import type { TestEvent } from 'node:test/reporters';

/** A busy machine is slow and goes on; a test that waits for what never comes says nothing. */
export const silenceMs = 10 * 60_000;

/**
 * Ends a run in which no test has begun or ended for ten minutes, and says which were under way: no file needs a limit of time,
 * which on a busy machine would mean nothing.
 * @param abort ends the run: the tests that are under way fail. Its reason names them.
 */
export async function* watchForSilence(
  events: AsyncIterable<TestEvent>,
  abort: AbortController,
  after = silenceMs,
): AsyncGenerator<TestEvent> {
  const underWay = new Map<string, string>();
  const giveUp = () => {
    const names = [...underWay.values()].join('; ');
    console.error(`No test has begun or ended for ${after / 1000} s. Under way: ${names}`);
    abort.abort(names);
  };
  let timer = setTimeout(giveUp, after);
  try {
    for await (const event of events) {
      if (event.type === 'test:dequeue' || event.type === 'test:complete') {
        clearTimeout(timer);
        timer = setTimeout(giveUp, after);
        const { name, nesting, file = '' } = event.data;
        const key = `${file} ${nesting} ${name}`;
        if (event.type === 'test:dequeue') underWay.set(key, name);
        else underWay.delete(key);
      }
      yield event;
    }
  } finally {
    clearTimeout(timer);
  }
}
