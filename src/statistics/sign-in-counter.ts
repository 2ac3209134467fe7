import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { dayOf, Tally } from './daily-counts.ts';
import { activeAmong, lockPlaces } from './store.ts';

const flushMs = 60_000;
/** Users that wait for a flush; it comes earlier when there are so many. */
const maxUsers = 5000;
/** Users, or counts of clients. */
const perChange = 100;

export type SignInCounter = ReturnType<typeof openSignInCounter>;

/**
 * Counts sign-ins at clients, which nothing else keeps a trace of for long. The request for tokens only adds to memory: what a
 * process has counted is written once a minute, and of a process that is killed the last minute is lost.
 */
export function openSignInCounter(deps: StoreDeps & Pick<Deps, 'log'>) {
  let tally = new Tally(deps);
  let users = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(counted: Tally, active: Map<string, number>): Promise<void> {
    const counts = counted.statements();
    for (let from = 0; from < counts.length; from += perChange) {
      await deps.db.change({ run: { counted: counts.slice(from, from + perChange) } });
    }
    const waiting = [...active];
    for (let from = 0; from < waiting.length; from += perChange) {
      const some = waiting.slice(from, from + perChange);
      const day = Math.min(...some.map(([, at]) => dayOf(at)));
      const known = new Set(
        await activeAmong(
          deps.db,
          some.map(([user_id]) => user_id),
          day,
        ),
      );
      const seen = new Tally(deps);
      for (const [user_id, at] of some) if (!known.has(user_id)) seen.active(user_id, at);
      const marks = seen.statements();
      if (marks.length > 0) await deps.db.change({ lock: lockPlaces(), run: { marks } });
    }
  }

  /** Resolves when all that was counted before is written. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (users.size > 0) {
      const [counted, active] = [tally, users];
      tally = new Tally(deps);
      users = new Map();
      writing = writing
        .then(() => write(counted, active))
        .catch((error: unknown) => deps.log.warn({ err: error }, 'sign-ins at clients were not counted'));
    }
    return writing;
  }

  return {
    /** The client has redeemed a code of this user. */
    count(client_id: string, user_id: string): void {
      const at = now(deps);
      tally.add('sign_in', at, { client_id });
      users.set(user_id, at);
      timer ??= setTimeout(flush, flushMs).unref();
      if (users.size >= maxUsers) void flush();
    },
    flush,
    close: flush,
  };
}
