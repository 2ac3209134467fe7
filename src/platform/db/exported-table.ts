import { latestDate } from '../clock.ts';
import { type TObject, type TProperties, type TSchema, Type } from '../schema.ts';
import { asWrite, mayConflict, mustChange, type Write } from './change.ts';
import type { Db, Part } from './db.ts';
import { askAll, askOfEach } from './parts.ts';
import { type Column, type Fields, nullable, type RowSchema, row, text, type ValuesOf } from './rows.ts';
import { allOf, asBigint, join, oneOf, type Param, raw, type Sql, sql } from './sql.ts';
import { partsWith } from './table-rows.ts';
import { type TableName, tables } from './tables.ts';

/** One JSON object for a row of a table, with rows of others that are part of it. A column that is null is left out. */
export type ExportedRecord = Readonly<Record<string, unknown>>;

type Sealer = { seal(purpose: string, text: string): string; open(purpose: string, sealed: string): string };

/** What the change that imports a record knows. `at`: Unix seconds. */
export type ImportChange = { event_id: string; at: number; vault: Sealer };

/** Behind these values of the primary key in a part of the store. */
export type PlaceInTable = { readonly part: number; readonly after: readonly Param[] | undefined };

type Definition<Columns extends Fields> = {
  /** The columns that a record has. */
  row: RowSchema<Columns>;
  /** Rows that count: what is about to be deleted is left out. */
  where?: Sql;
  /** Members that are rows of another table, which refer to this row by its key: everything of them but that. */
  lists?: Readonly<Record<string, { table: TableName; row: RowSchema<Fields> }>>;
  /** Members in plain text that are sealed in a column. */
  sealed?: Readonly<Record<string, string>>;
  /** Columns that follow from the record, or from the change. */
  follows?: {
    columns: Fields;
    values(record: ValuesOf<Columns>, change: ImportChange): Readonly<Record<string, unknown>>;
  };
  /** Instead of a new row. Unless it changes one, the record is refused. */
  write?(record: ValuesOf<Columns>, change: ImportChange): Sql;
  /** Beside it, such as the words that it is found by. */
  beside?(record: ValuesOf<Columns>, change: ImportChange): readonly Sql[];
};

/** How the rows of a table leave a store, and come into another. */
export type ExportedTable = {
  readonly name: TableName;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** By table, the columns that a record fills; others are left to what the table says. */
  readonly columns: ReadonlyMap<TableName, readonly string[]>;
  /** Of a record. */
  readonly schema: TObject;
  /** One part of the store after the other, each in the order of the primary key. @param after `next` of the page before. */
  page(
    db: Db,
    vault: Sealer,
    after: PlaceInTable | undefined,
    limit: number,
  ): Promise<{ page: ExportedRecord[]; next: PlaceInTable | undefined }>;
  /** Where a record is. */
  partOf(db: Db, record: ExportedRecord): Part;
  /** Those of some ids that there are. @param counting whether it matters that they are not about to be deleted. */
  existing(db: Db, ids: readonly string[], counting: boolean): Promise<Set<string>>;
  /**
   * Conflicts with a row that has the same key, or a value that must be unique.
   * @param most refused, as a statement that changes nothing, if there are as many that count.
   */
  writes(record: ExportedRecord, change: ImportChange, most?: number): readonly Write<unknown, true>[];
};

export function exportedTable<const Columns extends Fields>(
  name: TableName,
  { row: own, where, lists = {}, sealed = {}, follows, write, beside }: Definition<Columns>,
): ExportedTable {
  const key = tables[name].key.split(', ');
  const counts = where ?? sql`1 = 1`;
  const { place } = tables[name];
  const isShared = place === 'shared';
  /** The digest of a user's secret does not, although the secret does. */
  const leadsToPart = place === 'key' || !key[0]!.endsWith('_hash');
  const secrets = Object.fromEntries(Object.values(sealed).map((column) => [column, nullable(text)]));
  const Read = row(name, { ...own.fields, ...secrets });
  const Stored = row(name, { ...Read.fields, ...follows?.columns });
  const purposeOf = (column: string) => {
    const purpose = (tables[name] as { sealed?: Readonly<Record<string, unknown>> }).sealed?.[column];
    if (typeof purpose !== 'function') throw new TypeError(`${name}.${column} is not sealed for good`);
    return purpose as (row_key: string) => string;
  };

  async function listsOf(from: Part, ids: readonly string[]): Promise<Map<string, Record<string, ExportedRecord[]>>> {
    const found = new Map(ids.map((id) => [id, Object.fromEntries(Object.keys(lists).map((member) => [member, []]))]));
    for (const [member, { table, row: part }] of Object.entries(lists)) {
      const Of = row(table, { ...part.fields, of_row: text });
      const order = raw(tables[table].key);
      const rows = await from.all(
        Of,
        sql`select ${part.columns}, ${raw(key[0]!)} as of_row from ${raw(table)}
             where ${raw(key[0]!)} in ${oneOf(ids)} order by ${order}`,
      );
      for (const { of_row, ...one } of rows) {
        (found.get(String(of_row))![member] as ExportedRecord[]).push(withoutNulls(one));
      }
    }
    return found as Map<string, Record<string, ExportedRecord[]>>;
  }

  /** On SQLite a text is compared byte by byte, on PostgreSQL as its language has it. */
  const behind = (after: readonly Param[]): Sql => {
    const values = key.map((column, index) =>
      own.fields[column]!.isBigint ? asBigint(after[index]!) : sql`${after[index]!}`,
    );
    return sql`(${raw(key.join(', '))}) > (${join(values)})`;
  };

  return {
    name,
    key,
    columns: new Map<TableName, readonly string[]>([
      [name, Object.keys(write ? own.fields : Stored.fields)],
      ...Object.values(lists).map(({ table, row: part }): [TableName, string[]] => [
        table,
        [...Object.keys(part.fields), key[0]!],
      ]),
    ]),
    schema: schemaOf(own.fields, lists, sealed, (member) => member === Object.keys(sealed)[0]),

    async page(db, vault, { part, after } = { part: 0, after: undefined }, limit) {
      const parts = partsWith(db, name);
      const from = parts[part]!;
      const rows = await from.all(
        Read,
        sql`select ${Read.columns} from ${raw(name)} where ${allOf([counts, ...(after ? [behind(after)] : [])])}
             order by ${raw(key.join(', '))} limit ${limit}`,
      );
      const listed = Object.keys(lists).length === 0 ? undefined : await listsOf(from, rows.map(idOf));
      const page = rows.map((one) => {
        const plain = Object.entries(sealed).map(([member, column]) => [member, opened(vault, one, column)]);
        const members = Object.fromEntries(Object.keys(own.fields).map((column) => [column, one[column]]));
        return withoutNulls({ ...members, ...Object.fromEntries(plain), ...listed?.get(idOf(one)) });
      });
      const last = rows.at(-1);
      if (last && rows.length === limit)
        return { page, next: { part, after: key.map((column) => last[column] as Param) } };
      return { page, next: part + 1 < parts.length ? { part: part + 1, after: undefined } : undefined };
    },

    partOf: (db, record) => (isShared ? db.shared : db.of(String(record[place === 'key' ? key[0]! : 'user_id']))),

    async existing(db, ids, counting) {
      const Id = row(name, { [key[0]!]: text });
      const condition = counting ? counts : sql`1 = 1`;
      const among = (from: Part, some: readonly string[]) =>
        from.all(
          Id,
          sql`select ${Id.columns} from ${raw(name)} where ${raw(key[0]!)} in ${oneOf(some)} and ${condition}`,
        );
      const rows = isShared
        ? await among(db.shared, ids)
        : leadsToPart
          ? await askOfEach(db, ids, among)
          : (await askAll(db, (part) => among(part, ids))).flat();
      return new Set(rows.map(idOf));
    },

    writes(record, change, most) {
      const values = withNulls(own.fields, record) as ValuesOf<Columns>;
      if (write) return [mustChange(write(values, change)), ...rest(record, values, change)];
      const plain = Object.entries(sealed).map(([member, column]) => {
        const secret = record[member] as string | undefined;
        return [column, secret === undefined ? null : change.vault.seal(purposeOf(column)(idOf(record)), secret)];
      });
      const all = { ...values, ...Object.fromEntries(plain), ...follows?.values(values, change) };
      const insert =
        most === undefined
          ? mayConflict(sql`insert into ${raw(name)} ${Stored.values(all as never)}`)
          : mustChange(
              mayConflict(
                sql`insert into ${raw(name)} ${Stored.select(all as never)}
                     where (select count(*) from ${raw(name)} where ${counts}) < ${most}`,
              ),
            );
      return [insert, ...rest(record, values, change)];
    },
  };

  function idOf(record: Readonly<Record<string, unknown>>): string {
    return String(record[key[0]!]);
  }

  function opened(vault: Sealer, of: Readonly<Record<string, unknown>>, column: string): string | null {
    const secret = of[column] as string | null;
    return secret === null ? null : vault.open(purposeOf(column)(idOf(of)), secret);
  }

  function rest(record: ExportedRecord, values: ValuesOf<Columns>, change: ImportChange): Write<unknown, true>[] {
    const parts = Object.entries(lists).flatMap(([member, { table, row: part }]) => {
      const Part = row(table, { ...part.fields, [key[0]!]: text });
      return (record[member] as readonly ExportedRecord[]).map((one) => {
        const stored = { ...withNulls(part.fields, one), [key[0]!]: idOf(record) };
        return mayConflict(sql`insert into ${raw(table)} ${Part.values(stored as never)}`);
      });
    });
    const others = (beside?.(values, change) ?? []).map((one) => asWrite(one) as Write<unknown, true>);
    return [...parts, ...others];
  }
}

/** More rows are part of no other row. */
const mostOfAList = 10_000;

function schemaOf(
  fields: Fields,
  lists: NonNullable<Definition<Fields>['lists']>,
  sealed: Readonly<Record<string, string>>,
  isRequired: (member: string) => boolean,
): TObject {
  const secret = Type.String({ minLength: 1 });
  const parts = Object.entries(lists).map(([member, { row: part }]) => [
    member,
    Type.Array(Type.Object(membersOf(part.fields), { additionalProperties: false }), { maxItems: mostOfAList }),
  ]);
  const plain = Object.keys(sealed).map((member) => [member, isRequired(member) ? secret : Type.Optional(secret)]);
  return Type.Object(
    { ...membersOf(fields), ...Object.fromEntries(plain), ...Object.fromEntries(parts) },
    { additionalProperties: false },
  );
}

const membersOf = (fields: Fields): TProperties =>
  Object.fromEntries(
    Object.entries(fields).map(([name, column]) => [
      name,
      isNullable(column) ? Type.Optional(schemaOfMember(name, column)) : schemaOfMember(name, column),
    ]),
  );

/** A time that is none could not be shown on any page. */
const schemaOfMember = (name: string, column: Column<unknown>): TSchema =>
  column.isBigint && /_(?:at|until|end)$/.test(name)
    ? Type.Integer({ minimum: 0, maximum: latestDate })
    : column.schema;

const isNullable = (column: Column<unknown>): boolean => column.isValid(null);

const withoutNulls = (values: Readonly<Record<string, unknown>>): ExportedRecord =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

const withNulls = (fields: Fields, record: ExportedRecord): Record<string, unknown> =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, record[name] ?? null]));
