import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pg from 'pg';
import type { Deps } from '../../src/oauth/deps.ts';
import { createCellTexts } from '../../src/platform/db/cell-texts.ts';
import type { OneDb, Statement } from '../../src/platform/db/db.ts';
import { plannerSettings } from '../../src/platform/db/postgres-lane.ts';
import { rowsBelow } from './visited-rows.ts';

const explain = 'explain (analyze, timing off, format json) ';

/**
 * Runs each statement that is sent to this PostgreSQL store once more before, and undoes that.
 * @returns how many rows of the table each of them has read, indexes included.
 */
export async function watchRowsRead(
  t: TestContext,
  { db, config }: Pick<Deps, 'db' | 'config'>,
  table: string,
): Promise<{ sql: string; rows: number }[]> {
  assert.ok(config.databaseUrl, 'needs PostgreSQL');
  const client = new pg.Client({ connectionString: config.databaseUrl });
  client.on('error', () => undefined); // the database is gone before the test ends
  await client.connect();
  t.after(() => client.end());
  for (const [name, value] of Object.entries(plannerSettings)) await client.query(`set ${name} = ${value}`);
  const read: { sql: string; rows: number }[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const measure = (statements: readonly Statement[]) => {
    last = last.then(async () => {
      await client.query('begin');
      for (const { sql, params = [] } of statements) {
        const isWatched = new RegExp(`\\b${table}\\b`).test(sql);
        const { rows } = await client.query(`${isWatched ? explain : ''}${sql}`, [...params]);
        if (isWatched) read.push({ sql, rows: rowsBelow(rows[0]['QUERY PLAN'][0].Plan, table) });
      }
      await client.query('rollback');
    });
    return last;
  };
  for (const part of db.parts) {
    const { query, commit } = part;
    const textOf = createCellTexts(part.schema);
    const inPart = ({ sql, ...rest }: Statement) => ({ ...rest, sql: textOf(sql).sql });
    const watched: Pick<OneDb, 'query' | 'commit'> = {
      async query(statement) {
        await measure([inPart(statement)]);
        return query(statement);
      },
      async commit(steps) {
        await measure(steps.map(inPart));
        return commit(steps);
      },
    };
    Object.assign(part, watched);
    t.after(() => Object.assign(part, { query, commit }));
  }
  return read;
}
