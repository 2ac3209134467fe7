import { createHash } from 'node:crypto';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { StoreUnavailable } from '../platform/db/db.ts';
import { inPages } from '../platform/db/slices.ts';
import type { TransferDeps } from './deps.ts';
import { type End, headerOf } from './format.ts';
import { kinds } from './kinds/all.ts';

/** How many records of each kind are written. */
export type ExportCounts = Record<string, number>;

/**
 * Everything of the owner's, some lines at a time, with hashes and secrets: who reads it can sign in as anyone. The caller encrypts it.
 * @param recipient to whom, for the audit log, which names it before anything is read.
 * @param onProgress is called after each page.
 */
export async function exportStore(
  deps: TransferDeps,
  caller: Caller,
  recipient: string,
  onProgress: (counts: ExportCounts) => void = () => undefined,
): Promise<{ lines: AsyncGenerator<string>; counts: ExportCounts }> {
  const at = now(deps);
  const event = auditEvent({ action: 'store.exported', ...caller, after: { recipient } }, at);
  await deps.db.shared.change({ run: { event: event.statement } });
  const counts: ExportCounts = {};
  return { counts, lines: linesOf(deps, at, counts, onProgress) };
}

/** Less than everything would be taken for all there is. */
function incomplete(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error;
  throw new StoreUnavailable(
    'The export is not complete, and must not be used. Repeat it once the whole store answers.',
    {
      cause: error.cause ?? error,
    },
  );
}

async function* linesOf(
  deps: TransferDeps,
  at: number,
  counts: ExportCounts,
  onProgress: (counts: ExportCounts) => void,
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const hashed = (text: string): string => {
    hash.update(text);
    return text;
  };
  yield hashed(`${JSON.stringify(headerOf(deps.config.baseUrl, at))}\n`);
  for (const kind of kinds) {
    const pages = inPages((after: unknown, limit) => kind.page(deps, after, limit).catch(incomplete));
    for await (const page of pages) {
      counts[kind.name] = (counts[kind.name] ?? 0) + page.length;
      if (page.length > 0) {
        yield hashed(page.map((record) => `${JSON.stringify({ kind: kind.name, record })}\n`).join(''));
      }
      onProgress(counts);
    }
  }
  const end: End = { records: counts, sha256: hash.digest('hex') };
  yield `${JSON.stringify({ kind: 'end', record: end })}\n`;
}
