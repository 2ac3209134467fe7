import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { invalidRequest } from '../platform/errors.ts';
import { visibleText } from '../platform/text.ts';
import type { Problem } from './read-user.ts';

/** More different problems are counted as one. */
const maxReasons = 200;

/** `at`: its line, or its place in the document; the rest says what it is. */
export type Place = { at: number; external_id?: string; kind?: string; id?: string };

export type ImportReport = Awaited<ReturnType<typeof openReport>>;

/**
 * A new file, which its owner alone may read: it has the ids of users.
 * @throws {RequestError} before anything is imported, if it cannot be made there.
 */
export async function openReport(path: string, reasons: Record<string, number>) {
  const stream = createWriteStream(path, { mode: 0o600 });
  const isDone = finished(stream);
  isDone.catch(() => undefined); // close() throws it
  await Promise.race([once(stream, 'open'), isDone]).catch((error: NodeJS.ErrnoException) => {
    throw invalidRequest(
      `The report cannot be written to ${visibleText(path, 300)} (${error.code}). Name another file with --report. Nothing was changed.`,
      error,
    );
  });
  let isFull = false;
  return {
    write(place: Place, outcome: 'refused' | 'imported_without' | 'left_out', problems: readonly Problem[]): void {
      isFull = !stream.write(`${JSON.stringify({ ...place, outcome, problems })}\n`);
      for (const { path, message } of problems) {
        const reason = `${path.replaceAll(/\/\d+/g, '')}: ${message}`.replace(/^: /, '');
        const known = reason in reasons || Object.keys(reasons).length < maxReasons;
        const name = known ? reason : 'other problems';
        reasons[name] = (reasons[name] ?? 0) + 1;
      }
    },
    async drained(): Promise<void> {
      if (isFull && stream.writableNeedDrain) await Promise.race([once(stream, 'drain'), isDone]);
      isFull = false;
    },
    async close(): Promise<void> {
      stream.end();
      await isDone;
    },
  };
}
