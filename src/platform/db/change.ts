import type { Fields, RowSchema, ValuesOf } from './rows.ts';
import type { Sql, Statement } from './sql.ts';

/**
 * What is to change, and on which conditions. Nothing is changed unless all of it is.
 *
 * `lock` comes first: statements that touch the row over which other changes of the same matter compete. On PostgreSQL
 * each statement sees what was committed when it began, so a requirement is worth something against a concurrent change
 * only behind a lock that both take. On SQLite changes are made one after the other.
 *
 * `require` names conditions that have to be true then. `run` names statements, in order, each with the effects of those
 * before it; `undefined` is left out. The names come back in the answer.
 */
export type Change<Required extends Requirements, Run extends Writes> = {
  lock?: Statement | readonly Statement[];
  require?: Required;
  run: Run;
};
export type Requirements = Readonly<Record<string, Sql | undefined>>;
export type Writes = Readonly<Record<string, AnyWrite | readonly AnyWrite[] | undefined>>;

type Plain = Statement | Write<unknown, false>;
type AnyWrite = Statement | Write<unknown, boolean>;

/** A statement with more to it: made by {@link returning}, {@link mustChange} and {@link mayConflict}. */
export type Write<Row, Refuses extends boolean> = {
  readonly statement: Statement;
  readonly rows?: { parse(row: Record<string, unknown>): Row };
  readonly mustChange?: boolean;
  readonly mayConflict?: boolean;
  /** Whether it can refuse the whole change. */
  readonly refuses: Refuses;
};

/** What a statement did. `rows` is what `returning` gave. */
export type Written<Row> = { changes: number; rows: Row[] };

/** A statement whose rows are wanted. */
export const returning = <Columns extends Fields>(
  rows: RowSchema<Columns>,
  statement: Sql,
): Write<ValuesOf<Columns>, false> => ({ statement, rows, refuses: false });

/** Unless the statement changes at least one row, the whole change is refused under the name of the statement. */
export const mustChange = <Row = never>(write: Statement | Write<Row, boolean>): Write<Row, true> => ({
  ...asWrite(write),
  mustChange: true,
  refuses: true,
});

/**
 * A duplicate is expected of this statement (an address that is taken, a link that is spent): the whole change is refused
 * under its name. From a statement without it, it is a {@link UniqueViolation}.
 */
export const mayConflict = <Row = never>(write: Statement | Write<Row, boolean>): Write<Row, true> => ({
  ...asWrite(write),
  mayConflict: true,
  refuses: true,
});

export const asWrite = <Row>(write: Statement | Write<Row, boolean>): Write<Row, boolean> =>
  'statement' in write ? write : { statement: write, refuses: false };

type ResultOf<W> = W extends Write<infer Row, boolean> ? Written<Row> : { changes: number };
type Refusing<Run extends Writes> = {
  [Name in keyof Run]: Run[Name] extends Plain | readonly Plain[] | undefined ? never : Name;
}[keyof Run];

export type Kept<Run extends Writes> = {
  ok: true;
  /** By name. Of a list only the number of all changes. */
  results: { [Name in keyof Run]: ResultOf<Run[Name]> };
};
/** `failed` names the first requirement that was not met, or the statement that refused. Nothing was changed. */
export type Refused<Name> = { ok: false; failed: Name };
export type Done<Required extends Requirements, Run extends Writes> = [keyof Required | Refusing<Run>] extends [never]
  ? Kept<Run>
  : Kept<Run> | Refused<keyof Required | Refusing<Run>>;
