import type { BatchResult, Db, OneDb, Param, Part, Statement } from '../../src/platform/db/db.ts';
import { allTables, type Place } from '../../src/platform/db/tables.ts';
import { isIdOfUser } from '../../src/platform/ids.ts';

/** The store for a test that looks at rows, or makes them, past the stores of the application: SQL with `$1 … $n`. */
export function plain(db: Part | Db) {
  return 'parts' in db && db.parts.length > 1 ? inAllParts(db) : inOnePart(db as Part);
}

const ofCells: readonly Place[] = ['user', 'key', 'each'];
const tablesOfCells = allTables.flatMap(([name, { place }]) => (ofCells.includes(place) ? [name] : [])).join('|');
const inCells = new RegExp(String.raw`\b(?:from|join|into|update)\s+(?:${tablesOfCells})\b`);
/** Of values, and not of rows that each part has. */
const isInsert = (sql: string) =>
  /\binsert into\b/.test(sql) && !new RegExp(String.raw`\b(?:from|join)\s+(?:${tablesOfCells})\b`).test(sql);

/**
 * What each part with rows of its own answers, one after the other; the sum of counts. A row is inserted where its user is, also of an `insert … select`; whatever
 * is about no table of the cells is about the first part.
 */
function inAllParts(db: Db): ReturnType<typeof inOnePart> {
  const parts = db.parts.map(inOnePart);
  const [home] = parts as [ReturnType<typeof inOnePart>];
  const partsOf = (sql: string) => (inCells.test(sql) ? parts : [home]);
  const all = async <Row>(sql: string, params?: readonly Param[]) =>
    (await Promise.all(partsOf(sql).map((part) => part.all<Row>(sql, params)))).flat();
  const partOf = (sql: string, params: readonly Param[] = []): number => {
    const texts = [...params, ...(sql.match(/(?<=')\w+_[\w-]+/g) ?? [])].filter((one) => typeof one === 'string');
    const id = texts.find(isIdOfUser) ?? texts.find((text) => text.startsWith('usr_'));
    return id === undefined ? 0 : db.parts.indexOf(db.of(id) as OneDb);
  };
  const run = async (sql: string, params?: readonly Param[]): Promise<BatchResult> => {
    const [, analyzed] = /^analyze (\w+)$/.exec(sql) ?? [];
    if (analyzed) {
      const names = db.parts.map(({ schema }) => `${schema ?? 'public'}.${analyzed}`);
      return home.run(`analyze ${names.join(', ')}`);
    }
    const asked = partsOf(sql);
    if (asked.length === 1) return home.run(sql, params);
    const { columns, selection, ...insert } = selectionOf(sql) ?? {};
    if (columns?.includes('user_id')) return insertWhereUsersAre(insert, columns, await all(selection!, params));
    if (isInsert(sql)) return parts[partOf(sql, params)]!.run(sql, params);
    const results = await Promise.all(asked.map((part) => part.run(sql, params).catch(nothingThere)));
    return {
      changes: results.reduce((sum, { changes }) => sum + changes, 0),
      rows: results.flatMap(({ rows }) => rows),
    };
  };
  async function insertWhereUsersAre(
    { into, conflict }: { into?: string; conflict?: string },
    columns: readonly string[],
    rows: { user_id: string }[],
  ): Promise<BatchResult> {
    const insert = `insert into ${into} (${columns}) select ${columns} from jsonb_populate_recordset(null::${into}, $1) ${conflict}`;
    let changes = 0;
    for (const [part, some] of Map.groupBy(rows, ({ user_id }) => db.of(user_id)))
      changes += (await inOnePart(part).run(insert, [JSON.stringify(some)])).changes;
    return { changes, rows: [] };
  }
  return {
    all,
    async get<Row>(sql: string, params?: readonly Param[]) {
      const rows = await all<Record<string, unknown>>(sql, params);
      const isCount = /^\s*select (?:count|sum)\(/.test(sql);
      if (!isCount || rows.length === 1) return rows[0] as Row | undefined;
      const [name = ''] = Object.keys(rows[0] ?? {});
      return { [name]: rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0) } as Row;
    },
    run,
    async batch(statements) {
      if (statements.every(({ sql }) => !inCells.test(sql))) return home.batch(statements);
      const results: BatchResult[] = [];
      for (const { sql, params } of statements) results.push(await run(sql, params));
      return results;
    },
  };
}

/** What an `insert … select` inserts: a selection with the names of the columns. */
function selectionOf(sql: string) {
  const [, before = '', into = '', list = '', select = '', conflict = ''] =
    /^\s*(with .*?)?insert into (\w+) \(([^)]*)\)\s*((?:select|with) .*?)(on conflict .*)?$/s.exec(sql) ?? [];
  if (select === '') return undefined;
  const columns = list.split(',').map((name) => name.trim());
  return { into, columns, selection: `${before}select * from (${select}) as made (${columns})`, conflict };
}

function nothingThere(error: unknown): BatchResult {
  if (error instanceof TypeError && /of another cell|in another part/.test(error.message))
    return { changes: 0, rows: [] };
  throw error;
}

function inOnePart(db: Pick<Part, 'query' | 'commit'>) {
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
