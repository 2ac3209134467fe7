import { hash } from 'node:crypto';

export type Value = string | number | null;
/** In the order of the columns of its table. */
export type Row = readonly Value[];
/** In the order of the columns of the primary key. */
export type Key = readonly Value[];

export type MovedTable = {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly isInteger: boolean }[];
  /** The columns of the primary key, by their places in `columns`. */
  readonly key: readonly number[];
  /** Columns, by name, that unique indexes compare, and neither the primary key nor a foreign key: see {@link End.park}. */
  readonly unique: readonly string[];
};

export const keyOf = ({ key }: MovedTable, row: Row): Key => key.map((place) => row[place]!);
export const keyNames = ({ columns, key }: MovedTable): string[] => key.map((place) => columns[place]!.name);
export const columnNames = ({ columns }: MovedTable): string[] => columns.map(({ name }) => name);

/** How many rows, and the sum of their digests, which does not depend on their order: engines sort texts differently. */
export type TableSum = { rows: number; sum: bigint };

/** One of the two stores of a move, or a part of one, on a connection of its own without deadlines. */
export type End = {
  /** One text for both engines, with `$1`. */
  run(sql: string, ...params: Value[]): Promise<Record<string, Value>[]>;
  /** Commits when the work resolves, else rolls back. */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Within a transaction. @returns whether it was kept; false if a unique index or a foreign key refused it. */
  attempt(work: () => Promise<void>): Promise<boolean>;
  /** The next rows in the order of the primary key, as this engine sorts it. @param after undefined at the start. */
  rowsAfter(table: MovedTable, after: Key | undefined, rows: number): Promise<Row[]>;
  /** Those that exist, in any order. */
  rowsOf(table: MovedTable, keys: readonly Key[]): Promise<Row[]>;
  insert(table: MovedTable, rows: readonly Row[]): Promise<void>;
  /** Inserts rows, or writes them over those with the same key. */
  upsert(table: MovedTable, rows: readonly Row[]): Promise<void>;
  remove(table: MovedTable, keys: readonly Key[]): Promise<void>;
  /** Gives the row values in the unique columns that no other has, so that two rows can exchange theirs; an upsert follows. */
  park(table: MovedTable, key: Key): Promise<void>;
  count(table: Pick<MovedTable, 'name'>): Promise<number>;
  /** Reads every row. */
  sum(table: MovedTable): Promise<TableSum>;
  /** Has the store note each row that changes from now on, and refuse changes once it is closed. May be repeated. */
  track(tables: readonly MovedTable[]): Promise<void>;
  /** Within a transaction: waits until no change is in progress, and lets none begin. */
  holdChanges(): Promise<void>;
  /** Those that are not unique, as they were made. */
  indexes(): Promise<{ name: string; sql: string }[]>;
  /** For the queries to come. */
  analyze(): Promise<void>;
  /** Whether it has no table at all but those of a move. */
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
};

/** A row as it is to be in a part. */
export type Placed = { readonly part: End; readonly row: Row };

/** What only one user may have in all parts, and where that is decided: a row of the table `claims`. */
export type OwnClaim = { readonly part: End; readonly claim_key: string; readonly user_id: string };

/** The store that a move makes. */
export type Target = {
  /** The first one is that of the shared tables, and keeps what the move knows. */
  readonly parts: readonly [first: End, ...others: End[]];
  /** Those that may have rows of a table; the first one always. */
  partsOf(table: MovedTable): readonly [first: End, ...others: End[]];
  /** Further servers that follow the first part, and so have a copy of a table. */
  copiesOf(table: MovedTable): readonly End[];
  /** Where a row goes. */
  placesOf(table: MovedTable, row: Row): readonly Placed[];
  /** Whether each row of a table is in one part, as it was. */
  isAsBefore(table: MovedTable): boolean;
  /** Undefined for a table whose rows claim nothing. */
  claimsOf(table: MovedTable): ((row: Row) => readonly OwnClaim[]) | undefined;
};

/** A store in one part. */
export const wholeStore = (end: End): Target => ({
  parts: [end],
  partsOf: () => [end],
  copiesOf: () => [],
  placesOf: (_, row) => [{ part: end, row }],
  isAsBefore: () => true,
  claimsOf: () => undefined,
});

export type Ends = { readonly source: End; readonly target: Target };

/** Called while a table is copied, checked or compared. */
export type OnMoveProgress = (progress: { doing: string; table: string; done: number; of: number }) => void;

/** Beside the tables of Signet, in a store that is moved or was: what the move knows. */
export const moveTables = {
  /** `source`: this store is moved to `other`; `target`: it is made of what `other` has. */
  store_moves: `(side text primary key, move_id text not null, other text not null, migrations text not null,
    began_at bigint not null, copied_at bigint, closed_at bigint, finished_at bigint)`,
  /** In the source: keys of rows that have changed since the copying began. */
  store_move_changes: `(is_taken bigint not null, table_name text not null, row_key text not null,
    primary key (is_taken, table_name, row_key))`,
  /** In each part of the target: how far each table is copied, which the first one knows, and what was copied to this part. */
  store_move_places: `(table_name text primary key, after_key text, row_count bigint not null, row_sum text not null,
    is_done bigint not null)`,
  /** In each part of the target: indexes that are made when its tables are full. */
  store_move_indexes: '(name text primary key, sql text not null)',
} as const;
export type MoveTable = keyof typeof moveTables;

export const makeMoveTable = (end: End, name: MoveTable) =>
  end.run(`create table if not exists ${name} ${moveTables[name]}`);

const [separator, none] = ['\u001f', '\u0001'];
/** What {@link digestOf} takes of a row, the same on either engine. */
export function textOf(row: Row): string {
  let text = '';
  for (const value of row) text += `${value === null ? none : value}${separator}`;
  return text;
}

/** Hexadecimal digits of SHA-256: 56 bits, whose sum over any number of rows both engines can make. */
export const digestDigits = 14;
/** @param text of a row. */
export const digestOf = (text: string): bigint => BigInt(`0x${hash('sha256', text).slice(0, digestDigits)}`);
