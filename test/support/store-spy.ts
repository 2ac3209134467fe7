import type { Db, OneDb } from '../../src/platform/db/db.ts';

/** How many rows each statement of a change has changed. @returns with what takes it away again. */
export function watchChanges(db: Db): { changed: { sql: string; changes: number }[]; stop(): void } {
  const changed: { sql: string; changes: number }[] = [];
  const stops = db.parts.map((part) => watchPart(part, changed));
  return { changed, stop: () => stops.forEach((stop) => void stop()) };
}

function watchPart(db: OneDb, changed: { sql: string; changes: number }[]): () => void {
  const { commit } = db;
  const spied: typeof commit = async (steps) => {
    const committed = await commit(steps);
    if ('results' in committed) {
      changed.push(...committed.results.map(({ changes }, at) => ({ sql: steps[at]!.sql, changes })));
    }
    return committed;
  };
  Object.assign(db, { commit: spied });
  return () => void Object.assign(db, { commit });
}

/**
 * Calls `before` ahead of every call of this store. What it throws is what the store then throws.
 * @param before gets the SQL of the call: one text, or those of a change.
 * @returns takes it away again.
 */
export function beforeEachCall(db: Db, before: (sql: readonly string[]) => void): () => void {
  const stops = db.parts.map((part) => beforeEachOf(part, before));
  return () => stops.forEach((stop) => void stop());
}

function beforeEachOf(db: OneDb, before: (sql: readonly string[]) => void): () => void {
  const real = { query: db.query, commit: db.commit };
  const spied: typeof real = {
    async query(statement) {
      before([statement.sql]);
      return real.query(statement);
    },
    async commit(steps) {
      before(steps.map(({ sql }) => sql));
      return real.commit(steps);
    },
  };
  Object.assign(db, spied);
  return () => void Object.assign(db, real);
}

/**
 * Holds the next change whose SQL matches until it is released: what a request has read by then is old when it writes.
 * @returns `reached` resolves once the change is held.
 */
export function holdNextCall(db: Db, match: RegExp): { reached: Promise<void>; release(): void } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isHeld = false;
  const stops = db.parts.map((part) => {
    const { commit } = part;
    const held: typeof commit = async (steps) => {
      if (!isHeld && steps.some(({ sql }) => match.test(sql))) {
        isHeld = true;
        reached.resolve();
        await released.promise;
      }
      return commit(steps);
    };
    Object.assign(part, { commit: held });
    return () => void Object.assign(part, { commit });
  });
  return {
    reached: reached.promise,
    release() {
      for (const stop of stops) stop();
      released.resolve();
    },
  };
}

/**
 * Runs `before` ahead of every change of this store, except for those that `before` makes itself.
 * @returns takes it away again.
 */
export function interleave(db: Db, before: () => Promise<unknown>): () => void {
  let isRunning = false;
  const stops = db.parts.map((part) => {
    const { commit } = part;
    const interleaved: typeof commit = async (steps) => {
      if (!isRunning) {
        isRunning = true;
        await before().finally(() => {
          isRunning = false;
        });
      }
      return commit(steps);
    };
    Object.assign(part, { commit: interleaved });
    return () => void Object.assign(part, { commit });
  });
  return () => stops.forEach((stop) => void stop());
}

/** Runs `after` once, behind the next change whose SQL matches, before whoever made it hears that it is done. */
export function afterNextChange(db: Db, match: RegExp, after: () => Promise<unknown>): void {
  const stops = db.parts.map((part) => {
    const { commit } = part;
    const followed: typeof commit = async (steps) => {
      const committed = await commit(steps);
      if (!steps.some(({ sql }) => match.test(sql))) return committed;
      for (const stop of stops) stop();
      await after();
      return committed;
    };
    Object.assign(part, { commit: followed });
    return () => void Object.assign(part, { commit });
  });
}
