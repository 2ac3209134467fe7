import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { dayOf, Tally } from './daily-counts.ts';
import { activeAmong, lockPlaces } from './store.ts';

const flushMs = 60_000;
/** Users that wait for a flush; it comes earlier when there are so many. */
const maxUsers = 5000;
/** Users, or counts of clients. */
const perChange = 100;

const slicesOf = <Item>(all: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(all.length / perChange) }, (_, place) =>
    all.slice(place * perChange, (place + 1) * perChange),
  );

type Counted = { tally: Tally; active: Map<string, number> };

export type SignInCounter = ReturnType<typeof openSignInCounter>;

/**
 * Counts sign-ins at clients, which nothing else keeps a trace of for long. The request for tokens only adds to memory: what a
 * process has counted is written once a minute, and of a process that is killed the last minute is lost.
 */
export function openSignInCounter(deps: StoreDeps & Pick<Deps, 'log'>) {
  /** By part of the store, where counts and users are together. */
  let counted = new Map<Part, Counted>();
  let users = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(part: Part, { tally, active }: Counted): Promise<void> {
    for (const counts of slicesOf(tally.statements())) await part.change({ run: { counts } });
    for (const users of Map.groupBy(active, ([, at]) => dayOf(at)).values()) {
      for (const some of slicesOf(users)) await markUnlessKnown(part, some);
    }
  }

  /** @param users with times of the same day. */
  async function markUnlessKnown(
    part: Part,
    users: readonly (readonly [user_id: string, at: number])[],
  ): Promise<void> {
    const ids = users.map(([user_id]) => user_id);
    const known = new Set(await activeAmong(part, ids, dayOf(users[0]![1])));
    const seen = new Tally(deps);
    for (const [user_id, at] of users) if (!known.has(user_id)) seen.active(user_id, at);
    const marks = seen.statements();
    if (marks.length > 0) await part.change({ lock: lockPlaces(), run: { marks } });
  }

  /** Resolves when all that was counted before is written. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (counted.size > 0) {
      const all = [...counted];
      counted = new Map();
      users = 0;
      writing = writing
        .then(async () => void (await workIn(all, ([part, some]) => write(part, some))))
        .catch((error: unknown) => deps.log.warn({ err: error }, 'sign-ins at clients were not counted'));
    }
    return writing;
  }

  return {
    /** The client has redeemed a code of this user. */
    count(client_id: string, user_id: string): void {
      const at = now(deps);
      const { tally, active } = counted.getOrInsertComputed(deps.db.of(user_id), () => ({
        tally: new Tally(deps),
        active: new Map(),
      }));
      tally.add('sign_in', at, { client_id });
      if (!active.has(user_id)) users += 1;
      active.set(user_id, at);
      timer ??= setTimeout(flush, flushMs).unref();
      if (users >= maxUsers) void flush();
    },
    flush,
    close: flush,
  };
}
