import type { Part } from '../db/db.ts';
import { integer, type RowOf, row, text } from '../db/rows.ts';
import { asBigint, asText, incidental, oneOf, raw, type Sql, sql } from '../db/sql.ts';

/** Times are Unix seconds. */
export const Counter = row('failure_counters', { counter_key: text, failures: integer, blocked_until: integer });
export type Counter = RowOf<typeof Counter>;

/** A moment that does not come (the last second of the year 9999): blocked for good. */
export const never = 253_402_300_799;

export const readCounters = (part: Part, keys: readonly string[]): Promise<Counter[]> =>
  part.all(Counter, sql`select ${Counter.columns} from failure_counters where counter_key in ${oneOf(keys)}`);

/** The numbers of keys that statements are made for. */
const keysInStep = 50;

/** {@link readCounters} for a list of any length. */
export async function readManyCounters(part: Part, keys: readonly string[]): Promise<Counter[]> {
  if (keys.length === 0) return [];
  const padding = Array<string>(keysInStep - 1 - ((keys.length - 1) % keysInStep)).fill(keys[0]!);
  return readCounters(part, [...keys, ...padding]);
}

/** How long consecutive failures block the one who made them. */
export type Backoff = {
  /** The failure that starts the first block. */
  firstBlockAt: number;
  firstBlockSeconds: number;
  /** Each further failure doubles the block, up to this. */
  longestBlockSeconds: number;
  /** The failure that blocks until the counter is cleared. */
  disabledAt: number;
  /** How long a failure is counted before and after the first block. */
  memorySeconds: { unblocked: number; blocked: number };
};

/** The block follows from the new count in the same statement: a hundred failures at once count. @param at Unix seconds. */
export function countConsecutive(counter_key: string, backoff: Backoff, at: number): Sql {
  const { firstBlockSeconds, longestBlockSeconds, memorySeconds } = backoff;
  // SQLite and PostgreSQL share no power(), so it shifts, never by more than the width of a number.
  const doublings = Math.ceil(Math.log2(longestBlockSeconds / firstBlockSeconds));
  const constant = (value: number) => raw(String(value));
  const [firstBlockAt, disabledAt] = [constant(backoff.firstBlockAt), constant(backoff.disabledAt)];
  const now = asBigint(at);
  // Guesses while blocked do not count: else one burst of parallel guesses could disable the password.
  const count = sql`case when failure_counters.blocked_until > ${now} then failure_counters.failures
                         when failure_counters.expires_at > ${now} then failure_counters.failures + 1 else 1 end`;
  return incidental(sql`insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
      values (${counter_key}, 1, 0, 0, ${at + memorySeconds.unblocked})
      on conflict (counter_key) do update set
        failures = ${count},
        blocked_until = case
          when failure_counters.blocked_until > ${now} then failure_counters.blocked_until
          when ${count} >= ${disabledAt} then ${asBigint(never)}
          when ${count} >= ${constant(backoff.firstBlockAt + doublings)} then ${now} + ${constant(longestBlockSeconds)}
          when ${count} >= ${firstBlockAt}
            then ${now} + (${constant(firstBlockSeconds)} << cast(${count} - ${firstBlockAt} as integer))
          else failure_counters.blocked_until end,
        expires_at = case
          when ${count} >= ${disabledAt} then ${asBigint(never)}
          when ${count} >= ${firstBlockAt} then ${asBigint(at + memorySeconds.blocked)}
          else excluded.expires_at end
      returning ${Counter.columns}`);
}

/** At most `limit` in a window, which the first one opens; then a block until the window ends. */
export type Window = { limit: number; windowSeconds: number };

/** One more in the window, also beyond the limit. @param at Unix seconds. */
export const countInWindow = (counter_key: string, window: Window, at: number): Sql =>
  incidental(sql`${addToWindow(counter_key, window, at)} returning ${Counter.columns}`);

/** One more in the window; no row at the limit. A hundred at once get exactly `limit` rows. @param at Unix seconds. */
export const takeFromWindow = (counter_key: string, window: Window, at: number): Sql =>
  incidental(sql`${addToWindow(counter_key, window, at)}
       where failure_counters.blocked_until <= ${asBigint(at)} returning ${Counter.columns}`);

function addToWindow(counter_key: string, { limit, windowSeconds }: Window, at: number): Sql {
  const windowEndsAt = at + windowSeconds;
  const isOpen = sql`failure_counters.window_ends_at > ${asBigint(at)}`;
  const counted = sql`case when ${isOpen} then failure_counters.failures + 1 else 1 end`;
  const windowEnd = sql`case when ${isOpen} then failure_counters.window_ends_at else excluded.window_ends_at end`;
  return sql`insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
      values (${counter_key}, 1, ${windowEndsAt}, ${limit <= 1 ? windowEndsAt : 0}, ${windowEndsAt})
      on conflict (counter_key) do update set
        failures = ${counted},
        window_ends_at = ${windowEnd},
        blocked_until = case when ${counted} >= ${asBigint(limit)} then ${windowEnd} else 0 end,
        expires_at = ${windowEnd}`;
}

/** Whether a counter has come that far. */
export const hasCounted = (counter_key: string, comparison: '<=' | '=', failures: number): Sql =>
  sql`exists (select 1 from failure_counters where counter_key = ${counter_key} and failures ${raw(comparison)} ${failures})`;

export const clearCounter = (counter_key: string): Sql =>
  sql`delete from failure_counters where counter_key = ${counter_key}`;

/** @param keys a query. */
export const clearCounters = (keys: Sql): Sql => sql`delete from failure_counters where counter_key in (${keys})`;

/** Of one counter and those of a query for keys the one that blocks longest, or has most failures. */
export const worstCounter = (part: Part, counter_key: string, keys: Sql): Promise<Counter | undefined> =>
  part.get(
    Counter,
    sql`select ${Counter.columns} from failure_counters
         where counter_key in (select ${asText(counter_key)} union all ${keys})
         order by blocked_until desc, failures desc, counter_key limit 1`,
  );

/** `changes` is 0 when the counter blocks, or when there is none. */
export const clearUnlessBlocked = (counter_key: string, at: number): Sql =>
  incidental(sql`delete from failure_counters where counter_key = ${counter_key} and blocked_until <= ${at}`);
