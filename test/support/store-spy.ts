import type { Db } from '../../src/db/db.ts';

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
