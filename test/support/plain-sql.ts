import type { BatchResult, Db, Param, Statement } from '../../src/platform/db/db.ts';

/** The store for a test that looks at rows, or makes them, past the stores of the application: SQL with `$1 … $n`. */
export function plain(db: Pick<Db, 'query' | 'commit'>) {
  const batch = async (statements: readonly Statement[]): Promise<BatchResult[]> => {
    const committed = statements.length === 0 ? { results: [] } : await db.commit(statements);
    if ('refusedAt' in committed) throw new TypeError('A statement without conditions was refused.');
    return committed.results;
  };
  const all = async <Row>(sql: string, params?: readonly Param[]) => (await db.query({ sql, params })) as Row[];
  return {
    all,
    get: async <Row>(sql: string, params?: readonly Param[]) => (await all<Row>(sql, params))[0],
    run: async (sql: string, params?: readonly Param[]) => (await batch([{ sql, params }]))[0]!,
    /** All or nothing, in order. */
    batch,
  };
}

/** For `assert.rejects`: the engine's own words, which the store may have put below a sentence for the operator. */
export const saying = (words: RegExp) => (error: Error) => words.test(`${error.message} ${error.cause}`);
