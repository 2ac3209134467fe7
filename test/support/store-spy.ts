import type { Db } from '../../src/platform/db/db.ts';

/**
 * Puts `before` in front of every call of this store, whoever holds it. What it throws is what the store then throws.
 * @param before gets the SQL of the call: one text, or those of a batch.
 * @returns takes it away again.
 */
export function beforeEachCall(db: Db, before: (sql: readonly string[]) => void): () => void {
  const real = { all: db.all, get: db.get, run: db.run, batch: db.batch };
  const spied: typeof real = {
    async all(sql, params) {
      before([sql]);
      return real.all(sql, params);
    },
    async get(sql, params) {
      before([sql]);
      return real.get(sql, params);
    },
    async run(sql, params) {
      before([sql]);
      return real.run(sql, params);
    },
    async batch(statements) {
      before(statements.map(({ sql }) => sql));
      return real.batch(statements);
    },
  };
  Object.assign(db, spied);
  return () => void Object.assign(db, real);
}

/**
 * Holds the next call whose SQL matches until it is released: what a request has read by then is old when it writes.
 * @returns `reached` resolves once the call is held.
 */
export function holdNextCall(db: Db, match: RegExp): { reached: Promise<void>; release(): void } {
  const real = { run: db.run, batch: db.batch };
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isHeld = false;
  const hold = async (sql: readonly string[]) => {
    if (isHeld || !sql.some((text) => match.test(text))) return;
    isHeld = true;
    reached.resolve();
    await released.promise;
  };
  Object.assign(db, {
    async run(sql, params) {
      await hold([sql]);
      return real.run(sql, params);
    },
    async batch(statements) {
      await hold(statements.map(({ sql }) => sql));
      return real.batch(statements);
    },
  } satisfies Partial<Db>);
  return {
    reached: reached.promise,
    release() {
      Object.assign(db, real);
      released.resolve();
    },
  };
}
