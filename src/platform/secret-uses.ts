import type { Logger } from 'pino';
import { type Clock, now } from './clock.ts';
import type { Sql } from './db/sql.ts';
import type { StoreDeps } from './deps.ts';

const flushMs = 60_000;
const hourSeconds = 3600;
/** Secrets of one hour that are remembered. One that was forgotten is only written again. */
const maxSecrets = 10_000;
/** Statements of one change. */
const perChange = 100;

export type SecretUses = ReturnType<typeof openSecretUses>;

/**
 * When secrets were used, to the hour. The request only adds to memory: what a process has seen is written once a minute, and
 * of each secret once an hour at most. Of a process that is killed the last minute is lost.
 * @param write the statement that keeps the use of a secret, unless one of the same hour is kept.
 */
export function openSecretUses(
  deps: Pick<StoreDeps, 'db'> & { clock: Clock; log: Logger },
  write: (secret_id: string, at: number, unlessSince: number) => Sql,
) {
  let hour = 0;
  const seen = new Set<string>();
  let waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function writeAll(uses: readonly (readonly [string, number])[]): Promise<void> {
    for (let from = 0; from < uses.length; from += perChange) {
      const uses_written = uses.slice(from, from + perChange).map(([id, at]) => write(id, at, at - hourSeconds));
      await deps.db.shared.change({ run: { uses_written } });
    }
  }

  /** Resolves when all that was noted before is written. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size > 0) {
      // In one order, so that two nodes do not wait for each other.
      const uses = [...waiting].sort(([one], [other]) => (one < other ? -1 : 1));
      waiting = new Map();
      writing = writing
        .then(() => writeAll(uses))
        .catch((error: unknown) => deps.log.warn({ err: error }, 'the use of secrets was not recorded'));
    }
    return writing;
  }

  return {
    /** It has authenticated a request. */
    note(secret_id: string): void {
      const at = now(deps);
      const current = Math.floor(at / hourSeconds);
      if (current !== hour || seen.size >= maxSecrets) seen.clear();
      hour = current;
      if (seen.has(secret_id)) return;
      seen.add(secret_id);
      waiting.set(secret_id, at);
      timer ??= setTimeout(flush, flushMs).unref();
    },
    flush,
    close: flush,
  };
}
