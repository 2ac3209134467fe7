import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pg from 'pg';
import type { Deps } from '../../src/oauth/deps.ts';
import type { Db, Statement } from '../../src/platform/db/db.ts';
import { plain } from './plain-sql.ts';
import { until } from './until.ts';

export type OpenTransaction = {
  /** Resolves when each of these has ended or waits for a lock. */
  untilBlocked(work: readonly Promise<unknown>[]): Promise<void>;
  commit(): Promise<void>;
};

/** Another client of this PostgreSQL database: it has run `statement`, holds its locks, and has not committed. */
export async function openTransaction(
  t: TestContext,
  { config }: Pick<Deps, 'config'>,
  { sql, params = [] }: Statement,
): Promise<OpenTransaction> {
  assert.ok(config.databaseUrl, 'needs PostgreSQL');
  const client = new pg.Client({ connectionString: config.databaseUrl });
  client.on('error', () => undefined); // the query in flight rejects
  await client.connect();
  t.after(() => client.end());
  await client.query('begin');
  await client.query(sql, [...params]);
  const blocked = async (): Promise<number> => {
    await client.query('select pg_stat_clear_snapshot()'); // else a transaction sees what it saw first
    const { rows } = await client.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0].n;
  };
  return {
    async untilBlocked(work) {
      let ended = 0;
      const end = () => {
        ended += 1;
      };
      for (const promise of work) promise.then(end, end);
      await until(
        `${work.length} wait for the transaction or end`,
        async () => (await blocked()) + ended >= work.length,
      );
    },
    commit: async () => void (await client.query('commit')),
  };
}

/**
 * Opens so many connections for batches of two statements and more; a single statement goes by others. A store opens
 * another one only when each has much to do, and the batch that finds it so still goes out behind others: two batches that
 * must block at the same time would otherwise share a connection, where the second waits for the first.
 */
export async function openBatchConnections(db: Db, count: number): Promise<void> {
  const busy = { sql: 'select pg_backend_pid() as pid, pg_sleep(0.01)' };
  await until(`the store has ${count} connections for batches`, async () => {
    const results = await Promise.all(Array.from({ length: 4 * count }, () => plain(db).batch([busy, busy])));
    return new Set(results.map(([result]) => result?.rows[0]?.pid)).size >= count;
  });
}
