import type { TestEvent } from 'node:test/reporters';

/** Of a test; what is in them besides is for people. */
const told = ['test:dequeue', 'test:complete', 'test:pass', 'test:fail'] as const;
export type ToldEvent = {
  type: (typeof told)[number];
  /** `why` it failed, in a line. */
  data: { name: string; nesting: number; file?: string; why?: string };
};

const begin = '{"event":';

/** A reporter for another process of ours: an event a line, amid whatever the tests themselves print. */
export default async function* eventLines(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (!(told as readonly string[]).includes(type)) continue;
    const { name, nesting, file, details } = data as ToldEvent['data'] & { details?: { error?: Error } };
    const { cause, message = '' } = details?.error ?? {};
    const [why] = (cause instanceof Error ? cause.message : message).trim().split('\n');
    yield `\n${JSON.stringify({ event: { type, data: { name, nesting, file, why } } })}\n`;
  }
}

export const readEvent = (line: string): ToldEvent | undefined =>
  line.startsWith(begin) ? (JSON.parse(line) as { event: ToldEvent }).event : undefined;
