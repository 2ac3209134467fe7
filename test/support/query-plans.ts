import type { Db, OneDb } from '../../src/platform/db/db.ts';
import type { Statement } from '../../src/platform/db/sql.ts';

/**
 * Notes how the database would run each query that matches.
 * @returns the plans, as they are added, each with its query; and how to stop.
 */
export function watchPlans(db: Db, match: RegExp): { plans: string[]; stop(): void } {
  const plans: string[] = [];
  const stops = db.parts.map((part) => watchPart(part, match, plans));
  return { plans, stop: () => stops.forEach((stop) => void stop()) };
}

function watchPart(db: OneDb, match: RegExp, plans: string[]): () => void {
  const { query } = db;
  const explain = (statement: Statement) => ({
    ...statement,
    sql: `explain ${db.engine === 'sqlite' ? 'query plan ' : ''}${statement.sql}`,
  });
  const watched: typeof query = async (statement) => {
    if (match.test(statement.sql)) plans.push(`${statement.sql}\n${JSON.stringify(await query(explain(statement)))}`);
    return query(statement);
  };
  Object.assign(db, { query: watched });
  return () => void Object.assign(db, { query });
}
