import type { Db, Part } from '../../src/platform/db/db.ts';
import type { Statement } from '../../src/platform/db/sql.ts';
import { combinedOf } from './full-scans.ts';
import { plain } from './plain-sql.ts';

type Read = Statement & { part: Part };

const isRead = ({ sql }: Statement) => /^\s*(select|with)\b/.test(sql) && !/\b(insert|update|delete)\s/.test(sql);

/** @returns the reads that are made from now on, each with its values, as they are added. */
export function watchReads(db: Db): ReadonlyMap<string, Read> {
  const reads = new Map<string, Read>();
  for (const [place, part] of db.parts.entries()) {
    const { query } = part;
    const watched: typeof query = (statement) => {
      const { sql, params, key } = statement;
      const read = { sql, params, key, part };
      if (isRead(statement)) reads.set(JSON.stringify([place, sql, params], withBigints), read);
      return query(statement);
    };
    Object.assign(part, { query: watched });
  }
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
export async function visitedRows(reads: readonly Read[]): Promise<{ sql: string; rows: number }[]> {
  const asSent = reads.flatMap((read) => [read, ...combinedOf(read).map((one) => ({ ...one, part: read.part }))]);
  return Promise.all(
    asSent.map(async ({ sql, params, part }) => {
      const [row] = await plain(part).all<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
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
