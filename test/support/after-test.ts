import type { TestContext } from 'node:test';

type Work = () => unknown;
const waiting = new WeakMap<TestContext, Work[]>();

/**
 * As `t.after`, but last in, first out, so that a server stops before its database goes; and when it is done, it is let
 * go. The runner keeps the hooks of all tests until the process ends, and with a hook whatever it mentions: 3 MB for each
 * server, which the garbage collector would move about during all tests that follow.
 */
export function afterTest(t: TestContext, work: Work): void {
  const works = waiting.get(t) ?? [];
  works.push(work);
  if (works.length > 1) return;
  waiting.set(t, works);
  t.after(async () => {
    const failures: unknown[] = [];
    for (let last = works.pop(); last; last = works.pop()) {
      try {
        await last();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures);
    if (failures.length > 0) throw failures[0];
  });
}
