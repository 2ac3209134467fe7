import { type Place, type TableName, tables } from './tables.ts';

/** A statement as a part is asked it. */
type PartText = {
  readonly sql: string;
  /** Whether it reads or changes rows that are placed by their user. */
  readonly isAboutUsers: boolean;
  /** Whether each part has all that it reads. */
  readonly isOfShared: boolean;
};

const tableNames = /\b(from|join|into|update)(\s+)([a-z_]+)\b/g;
/** Where {@link tableNames} does not look: a join says which rows belong together. */
const listedTables = /\bfrom\s+\w+(?:\s+\w+)?\s*,\s*([a-z_]+)\b/g;
const changedTables = /\b(?:insert\s+into|update|delete\s+from)\s+([a-z_]+)\b/g;
const ofCells: readonly Place[] = ['user', 'key', 'each'];
/** Each schema has its own, of what was done to its tables. */
const migrationsTable = 'schema_migrations';

/**
 * The texts of a part's statements: with the name of its schema before those of the tables that each cell has.
 * @param schema undefined for the part in which shared tables are changed: it has the schema that connections begin with.
 * @param check `strict`: also for one about rows of cells, of which the first part has none. Work over all rows asks it, too.
 * @throws {TypeError} for a statement that needs another part.
 */
export function createCellTexts(schema: string | undefined, check?: 'strict'): (sql: string) => PartText {
  const made = new Map<string, PartText>();

  function make(sql: string): PartText {
    const named = [...sql.matchAll(tableNames)].map(([, , , name]) => name!).filter(isTable);
    const changed = [...sql.matchAll(changedTables)].map(([, name]) => name!).filter(isTable);
    const misplaced =
      schema === undefined
        ? named.find((name) => check === 'strict' && ['user', 'key'].includes(tables[name].place))
        : (named.find((name) => tables[name].place === 'home') ??
          changed.find((name) => tables[name].place === 'shared'));
    if (misplaced !== undefined) {
      throw new TypeError(`${misplaced} is in another part of the store than ${schema ?? 'the shared tables'}: ${sql}`);
    }
    const listed = [...sql.matchAll(listedTables)].map(([, name]) => name!).find((name) => isOfCells(name));
    if (schema !== undefined && listed !== undefined) {
      throw new TypeError(`${listed} is to be joined, and not in a list behind "from": ${sql}`);
    }
    const inSchema = (all: string, word: string, blank: string, name: string) =>
      name === migrationsTable || isOfCells(name) ? `${word}${blank}${schema}.${name}` : all;
    return {
      sql: schema === undefined ? sql : sql.replace(tableNames, inSchema),
      isAboutUsers: named.some((name) => tables[name].place === 'user'),
      isOfShared: named.length > 0 && named.every((name) => tables[name].place === 'shared'),
    };
  }

  return (sql) => {
    let text = made.get(sql);
    if (text === undefined) {
      text = make(sql);
      made.set(sql, text);
    }
    return text;
  };
}

const isOfCells = (name: string): boolean => isTable(name) && ofCells.includes(tables[name].place);

const isTable = (name: string): name is TableName => name in tables;
