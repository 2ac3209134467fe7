import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Db } from './db.ts';

/**
 * Logs each read and each change from now on, on one line at level `info`: the SQL texts, how many milliseconds the store
 * took, and the error if it failed. Never the values: they are personal data, hashes and secrets.
 * @param monotonic milliseconds.
 */
export function logStatements(db: Db, { log, monotonic }: { log: Logger; monotonic: Clock }): void {
  const { query, commit } = db;
  async function timed<Result>(kind: 'read' | 'change', sql: readonly string[], run: () => Promise<Result>) {
    const startedAt = monotonic();
    const line = (error?: unknown) => ({
      sql: sql.map((text) => text.replaceAll(/\s+/g, ' ').trim()),
      ms: Math.round((monotonic() - startedAt) * 100) / 100,
      ...(error === undefined ? {} : { failed: error instanceof Error ? error.name : 'unknown' }),
    });
    try {
      const result = await run();
      log.info(line(), `sql ${kind}`);
      return result;
    } catch (error) {
      log.info(line(error), `sql ${kind}`);
      throw error;
    }
  }
  db.query = (statement) => timed('read', [statement.sql], () => query(statement));
  db.commit = (steps) =>
    timed(
      'change',
      steps.map(({ sql }) => sql),
      () => commit(steps),
    );
}
