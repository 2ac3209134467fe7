import type { Db, Statement } from '../db/db.ts';

/** One row as a check reads it and a count answers it. Times are Unix seconds. */
export type Counter = { counter_key: string; failures: number; blocked_until: number };

/** A moment that does not come (the last second of the year 9999): blocked for good. */
export const never = 253_402_300_799;

export const readCounters = (db: Db, keys: readonly string[]): Promise<Counter[]> =>
  db.all<Counter>(
    `select counter_key, failures, blocked_until from failure_counters
      where counter_key in (${keys.map((_, index) => `$${index + 1}`).join(', ')})`,
    keys,
  );

/** Consecutive failures and the wait that each one earns. */
export type Backoff = {
  /** The failure that starts the first block. */
  firstBlockAt: number;
  firstBlockSeconds: number;
  /** Each further failure doubles the block, up to this. */
  longestBlockSeconds: number;
  /** The failure after which there is no waiting any more: blocked until someone forgets the counter. */
  disabledAt: number;
  /** How long a failure is remembered while nothing was ever blocked, and once something was. */
  memorySeconds: { unblocked: number; blocked: number };
};

/**
 * One more consecutive failure; `returning` gives the {@link Counter}. The block follows from the new count inside the
 * same statement, so a hundred failures at once count a hundred and nobody computes from a number that has moved on.
 * @param at Unix seconds.
 */
export function countConsecutive(counter_key: string, backoff: Backoff, at: number): Statement {
  const { firstBlockAt, firstBlockSeconds, longestBlockSeconds, disabledAt, memorySeconds } = backoff;
  // Powers of two by shifting: SQLite and PostgreSQL share no power(). The longest block is asked for first, because
  // neither engine shifts by more than the width of a number in a way that could be used.
  const doublings = Math.ceil(Math.log2(longestBlockSeconds / firstBlockSeconds));
  // While blocked a guess gains nothing, right or wrong, so it does not count: else one burst of parallel guesses could
  // run up to the failure that disables the password.
  const count = `case when failure_counters.blocked_until > ${now} then failure_counters.failures
                      when failure_counters.expires_at > ${now} then failure_counters.failures + 1 else 1 end`;
  return {
    sql: `insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
          values ($1, 1, 0, 0, $3)
          on conflict (counter_key) do update set
            failures = ${count},
            blocked_until = case
              when failure_counters.blocked_until > ${now} then failure_counters.blocked_until
              when ${count} >= ${disabledAt} then $5
              when ${count} >= ${firstBlockAt + doublings} then ${now} + ${longestBlockSeconds}
              when ${count} >= ${firstBlockAt}
                then ${now} + (${firstBlockSeconds} << cast(${count} - ${firstBlockAt} as integer))
              else failure_counters.blocked_until end,
            expires_at = case
              when ${count} >= ${disabledAt} then $5
              when ${count} >= ${firstBlockAt} then $4
              else excluded.expires_at end
          returning counter_key, failures, blocked_until`,
    params: [counter_key, at, at + memorySeconds.unblocked, at + memorySeconds.blocked, never],
  };
}

/** The moment of a count, `$2`. The cast tells PostgreSQL its width, which it would else conclude from a literal nearby. */
const now = 'cast($2 as bigint)';

/** So many in a window that the first one opens; then a block until the window ends. */
export type Window = { limit: number; windowSeconds: number };

/**
 * One more in the window, also beyond the limit; `returning` gives the {@link Counter}.
 * @param at Unix seconds.
 */
export const countInWindow = (counter_key: string, window: Window, at: number): Statement => ({
  sql: `${countInWindowSql} ${returning}`,
  params: windowParams(counter_key, window, at),
});

/**
 * Takes one of the places in the window; no row when all are taken. A hundred at once get exactly `limit` of them.
 * @param at Unix seconds.
 */
export const takeFromWindow = (counter_key: string, window: Window, at: number): Statement => ({
  sql: `${countInWindowSql} where failure_counters.blocked_until <= ${now} ${returning}`,
  params: windowParams(counter_key, window, at),
});

const isOpen = `failure_counters.window_ends_at > ${now}`;
const countedInWindow = `case when ${isOpen} then failure_counters.failures + 1 else 1 end`;
const windowEnd = `case when ${isOpen} then failure_counters.window_ends_at else excluded.window_ends_at end`;
const countInWindowSql = `
  insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
  values ($1, 1, $3, $4, $3)
  on conflict (counter_key) do update set
    failures = ${countedInWindow},
    window_ends_at = ${windowEnd},
    blocked_until = case when ${countedInWindow} >= $5 then ${windowEnd} else 0 end,
    expires_at = ${windowEnd}`;
const returning = 'returning counter_key, failures, blocked_until';

function windowParams(counter_key: string, { limit, windowSeconds }: Window, at: number) {
  const windowEndsAt = at + windowSeconds;
  return [counter_key, at, windowEndsAt, limit <= 1 ? windowEndsAt : 0, limit];
}

/** Forgets what was counted. */
export const clearCounter = (counter_key: string): Statement => ({
  sql: 'delete from failure_counters where counter_key = $1',
  params: [counter_key],
});

/** Keys of the counters of each browser that a person is known by: `$1` is their prefix, `$2` the person's email_key. */
const deviceCounters = `select $1 || d.device_hash from known_devices d join users u on u.user_id = d.user_id
                         where u.email_key = $2`;

/** Forgets what was counted at each browser that a person is known by. @param prefix of the keys, before the browser's hash. */
export const clearDeviceCounters = (prefix: string, email_key: string): Statement => ({
  sql: `delete from failure_counters where counter_key in (${deviceCounters})`,
  params: [prefix, email_key],
});

/** Of one counter, and those of each browser that a person is known by, the one that blocks longest, or has most failures. */
export const worstCounter = (
  db: Db,
  counter_key: string,
  devices: { prefix: string; email_key: string },
): Promise<Counter | undefined> =>
  db.get<Counter>(
    `select counter_key, failures, blocked_until from failure_counters
      where counter_key = $3 or counter_key in (${deviceCounters})
      order by blocked_until desc, failures desc, counter_key limit 1`,
    [devices.prefix, devices.email_key, counter_key],
  );

/** Forgets what was counted unless it blocks; `changes` is 0 when it does, or when there was nothing to forget. */
export const clearUnlessBlocked = (counter_key: string, at: number): Statement => ({
  sql: 'delete from failure_counters where counter_key = $1 and blocked_until <= $2',
  params: [counter_key, at],
});

/** For the jobs: counters that can block nobody any more. What `$1` has passed, a count would begin anew anyway. */
export const purgeFailureCounters = (db: Db, at: number, rows: number) =>
  db.run(
    `delete from failure_counters where counter_key in
       (select counter_key from failure_counters where expires_at <= $1 order by expires_at limit $2)`,
    [at, rows],
  );
