import type { TestEvent } from 'node:test/reporters';

/** Of a test; what is in them besides is for people. */
const told = ['test:dequeue', 'test:complete', 'test:pass', 'test:fail'] as const;
export type ToldEvent = { type: (typeof told)[number]; data: { name: string; nesting: number; file?: string } };

const begin = '{"event":';

/** A reporter for another process of ours: an event a line, amid whatever the tests themselves print. */
export default async function* eventLines(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (!(told as readonly string[]).includes(type)) continue;
    const { name, nesting, file } = data as ToldEvent['data'];
    yield `\n${JSON.stringify({ event: { type, data: { name, nesting, file } } })}\n`;
  }
}

export const readEvent = (line: string): ToldEvent | undefined =>
  line.startsWith(begin) ? (JSON.parse(line) as { event: ToldEvent }).event : undefined;
