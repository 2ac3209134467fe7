import type { OneDb } from '../../src/platform/db/db.ts';
import type { Statement } from '../../src/platform/db/sql.ts';
import { combinedOf } from './full-scans.ts';
import { plain } from './plain-sql.ts';

const isRead = ({ sql }: Statement) => /^\s*(select|with)\b/.test(sql) && !/\b(insert|update|delete)\s/.test(sql);

/** @returns the reads that are made from now on, each with its values, as they are added. */
export function watchReads(db: OneDb): ReadonlyMap<string, Statement> {
  const reads = new Map<string, Statement>();
  const { query } = db;
  const watched: typeof query = (statement) => {
    const { sql, params, key } = statement;
    if (isRead(statement)) reads.set(JSON.stringify([sql, params], withBigints), { sql, params, key });
    return query(statement);
  };
  Object.assign(db, { query: watched });
  return reads;
}

const withBigints = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);

/** Of the JSON that `explain (analyze)` gives. */
export type PlanNode = {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
};

/** How many rows PostgreSQL looks at for each read, as it is made alone and for several requests at once. SQLite counts none. */
export async function visitedRows(db: OneDb, reads: readonly Statement[]): Promise<{ sql: string; rows: number }[]> {
  const asSent = reads.flatMap((read) => [read, ...combinedOf(read)]);
  return Promise.all(
    asSent.map(async ({ sql, params }) => {
      const [row] = await plain(db).all<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
        `explain (analyze, timing off, format json) ${sql}`,
        params,
      );
      return { sql, rows: Math.round(rowsBelow(row!['QUERY PLAN'][0]!.Plan)) };
    }),
  );
}

/** Rows that a plan looks at, of one table or of all. */
export function rowsBelow(node: PlanNode, table?: string): number {
  const { Plans = [], 'Actual Loops': loops, 'Relation Name': relation } = node;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const counts = relation !== undefined && relation === (table ?? relation);
  const own = counts ? (node['Actual Rows'] + removed) * loops : 0;
  return Plans.reduce((sum, child) => sum + rowsBelow(child, table), own);
}
