import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { readConfig } from '../../src/app/config.ts';
import type { Db } from '../../src/platform/db/db.ts';
import type { Deps } from '../../src/platform/deps.ts';
import { emailKey } from '../../src/platform/email-address.ts';
import { RequestError } from '../../src/platform/errors.ts';
import { digest } from '../../src/platform/ids.ts';
import type { CounterDeps } from '../../src/platform/limits/failure-limits.ts';
import { type Engine, freshDatabase } from './databases.ts';
import { plain } from './plain-sql.ts';
import type { TestUser } from './test-user.ts';

/** A service's database and a clock in seconds that the test moves. */
export async function world(t: TestContext, engine: Engine, environment: Record<string, string> = {}) {
  const { db } = await freshDatabase(t, engine);
  let seconds = 1_800_000_000;
  const pass = (more: number) => {
    seconds += more;
  };
  const placement = { bucketOfEmail: (email: string) => digest(emailKey(email)).slice(0, 2) };
  const deps: CounterDeps & Pick<Deps, 'placement'> = {
    ...{ db, placement, clock: () => seconds * 1000 },
    config: readConfig(environment),
  };
  return { deps, db, pass, at: () => seconds };
}

/** @returns `Retry-After` of the 429 that the attempt ends in; nothing when it is let through. */
export async function waitOf(attempt: () => unknown): Promise<number | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestError && error.code === 'rate_limited', String(error));
    return error.retryAfter;
  }
}

export const times = (count: number, action: (index: number) => Promise<unknown>) =>
  Array.from({ length: count }, (_, index) => index).reduce<Promise<unknown>>(
    (before, index) => before.then(() => action(index)),
    Promise.resolve(),
  );

export const rowsOf = (db: Db) =>
  plain(db).all<{ counter_key: string; failures: number }>('select * from failure_counters');

export const minute = 60;
export const hour = 3600;

export const home = '192.0.2.1';

/** A wrong password at a browser that is new to the account, where a test has limits off. */
export const countWrongPassword = (db: Db, { user_id, email }: Pick<TestUser, 'user_id' | 'email'>) =>
  plain(db.of(user_id)).run(
    `insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
     values ($1, 1, 9999999999, 0, 9999999999)`,
    [`password-account:${digest(emailKey(email))}`],
  );
