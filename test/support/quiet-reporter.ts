import type { TestEvent } from 'node:test/reporters';

/** A line of our log at the level `error` or above. */
const errorLine = /^\{"level":[56]0,.*$/gm;

/**
 * Beside the reporter that people read: a run whose tests pass and that prints an error of ours has not passed. Whatever
 * a test expects to be logged it reads itself; what reaches the terminal nobody expected.
 */
export default async function* quietReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type !== 'test:stderr' && event.type !== 'test:stdout') continue;
    for (const [line] of event.data.message.matchAll(errorLine)) {
      process.exitCode = 1;
      yield `Nobody expected this error, printed by ${event.data.file}:\n${line}\n`;
    }
  }
}
