import { remembered } from '../remembered.ts';
import { type Static, type TSchema, Type } from '../schema.ts';
import { compile } from '../validator.ts';
import { join, type Param, raw, type Sql, sql } from './sql.ts';

/** What one column holds in the store, and what it is to the program. */
export class Column<Value> {
  declare readonly value: Value;
  /** Of the stored value. */
  readonly isValid: (stored: unknown) => boolean;
  readonly codec: Codec<Value> | undefined;
  /** Whether parameters are cast to `bigint`. */
  readonly isBigint: boolean;
  /** Of what it is to the program. */
  readonly schema: TSchema;

  constructor(isValid: (stored: unknown) => boolean, { schema, codec, isBigint = false }: Nature<Value>) {
    this.isValid = isValid;
    this.codec = codec;
    this.isBigint = isBigint;
    this.schema = schema;
  }
}
type Nature<Value> = { schema: TSchema; codec?: Codec<Value> | undefined; isBigint?: boolean };
type Codec<Value> = { decode(stored: unknown): Value; encode(value: Value): Param };

const isText = (stored: unknown) => typeof stored === 'string';

export const text = new Column<string>(isText, { schema: Type.String() });
export const integer = new Column<number>(Number.isInteger, {
  schema: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  isBigint: true,
});
/** A fraction, such as an average. */
export const real = new Column<number>(Number.isFinite, { schema: { type: 'number' } });
/** Stored as 1 or 0. What `exists (…)` gives is one, too. */
export const flag = new Column<boolean>((stored) => stored === 0 || stored === 1, {
  schema: Type.Boolean(),
  codec: { decode: (stored) => stored === 1, encode: (value) => (value ? 1 : 0) },
  isBigint: true,
});
/** A text of a narrower type, such as `id<UserId>()`. Only the database can say that it is one. */
export const id = <Id extends string>(): Column<Id> => new Column<Id>(isText, { schema: Type.String() });
/** Words, stored with spaces between them. */
export const words = <Word extends string = string>(): Column<Word[]> =>
  new Column<Word[]>(isText, {
    schema: Type.Array(Type.String()),
    codec: {
      decode: (stored) => (stored as string).split(' ').filter(Boolean) as Word[],
      encode: (value) => value.join(' '),
    },
  });
/** One of a few texts. */
export const choice = <const Choice extends string>(...choices: readonly Choice[]): Column<Choice> =>
  new Column<Choice>((stored) => choices.some((one) => one === stored), { schema: Type.Enum([...choices]) });

export const nullable = <Value>({ isValid, codec, isBigint, schema }: Column<Value>): Column<Value | null> =>
  new Column<Value | null>((stored) => stored === null || isValid(stored), {
    schema: Type.Union([schema, Type.Null()]),
    codec: codec && {
      decode: (stored) => (stored === null ? null : codec.decode(stored)),
      encode: (value) => (value === null ? null : codec.encode(value)),
    },
    isBigint,
  });

/** A JSON text, parsed and checked. */
export const json = <Schema extends TSchema>(schema: Schema): Column<Static<Schema>> =>
  jsonOf<Static<Schema>>(schema, compile(schema).check);
/** A JSON object, of whose members only the code knows that they are of this type. */
export const jsonObject = <Value extends object>(): Column<Value> =>
  jsonOf<Value>({ type: 'object' }, (value) => typeof value === 'object' && value !== null && !Array.isArray(value));
/** A JSON list of texts, perhaps of a narrower type. */
export const jsonTexts = <Text extends string = string>(): Column<readonly Text[]> =>
  jsonOf<readonly Text[]>(Type.Array(Type.String()), isTexts, decodeTexts as (stored: string) => readonly Text[]);

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const decodeTexts = remembered((stored) => decodeJson(stored, isTexts));

function decodeJson<Value>(stored: string, isOfItsShape: (value: unknown) => value is Value): Value {
  const value: unknown = JSON.parse(stored);
  if (!isOfItsShape(value)) throw new TypeError('not of its schema');
  return value;
}

const jsonOf = <Value>(
  schema: TSchema,
  isOfItsShape: (value: unknown) => boolean,
  decode = (stored: string) => decodeJson(stored, isOfItsShape as (value: unknown) => value is Value),
): Column<Value> =>
  new Column<Value>(isText, {
    schema,
    codec: { decode: (stored) => decode(stored as string), encode: (value) => JSON.stringify(value) },
  });

/** A stored row is not of the shape that the code expects: a mistake of ours or a damaged database. Names no value. */
export class RowMismatch extends Error {
  override name = 'RowMismatch';
}

export type Fields = Readonly<Record<string, Column<unknown>>>;
export type ValuesOf<Columns extends Fields> = { [Name in keyof Columns]: Columns[Name]['value'] };

/** The type of a row: `type User = RowOf<typeof User>`. */
export type RowOf<Schema extends RowSchema<Fields>> = ValuesOf<Schema['fields']>;

/** What a query gives. Rows are checked and decoded where they are read; columns beside these stay as they are. */
export class RowSchema<Columns extends Fields> {
  /** To build another row from: `row('a join b', { ...A.fields, name: B.fields.name })`. */
  readonly fields: Columns;
  readonly #name: string;
  readonly #checks: readonly { column: string; isValid: Column<unknown>['isValid'] }[];
  readonly #decoders: readonly { column: string; codec: Codec<unknown> }[];
  #columns: Sql | undefined;
  /** By table, made once: joining the names took longer than binding the statement. */
  readonly #columnsOf = new Map<string, Sql>();

  constructor(name: string, fields: Columns) {
    this.#name = name;
    this.fields = fields;
    this.#checks = Object.entries(fields).map(([column, { isValid }]) => ({ column, isValid }));
    this.#decoders = Object.entries(fields).flatMap(([column, { codec }]) => (codec ? [{ column, codec }] : []));
  }

  /** `a, b, c` */
  get columns(): Sql {
    this.#columns ??= raw(Object.keys(this.fields).join(', '));
    return this.#columns;
  }

  /** `t.a, t.b, t.c` */
  columnsOf(table: string): Sql {
    let columns = this.#columnsOf.get(table);
    if (columns === undefined) {
      columns = raw(
        Object.keys(this.fields)
          .map((column) => `${table}.${column}`)
          .join(', '),
      );
      this.#columnsOf.set(table, columns);
    }
    return columns;
  }

  pick<const Name extends keyof Columns & string>(...names: readonly Name[]): RowSchema<Pick<Columns, Name>> {
    const picked = names.map((name) => [name, this.fields[name]]);
    return new RowSchema(this.#name, Object.fromEntries(picked) as Pick<Columns, Name>);
  }

  /** `(a, b) values ($1, $2)`: the columns of this row that `values` has. */
  values(values: Partial<ValuesOf<Columns>>): Sql {
    const { names, params } = this.#encode(values);
    return sql`(${raw(names.join(', '))}) values (${join(params)})`;
  }

  /** `(a, b) select $1, $2`, where a `from` or a `where` may follow. */
  select(values: Partial<ValuesOf<Columns>>): Sql {
    const { names, params } = this.#encode(values);
    return sql`(${raw(names.join(', '))}) select ${join(params)}`;
  }

  /** `a = $1, b = $2`, for `update … set`. */
  set(values: Partial<ValuesOf<Columns>>): Sql {
    const { names, params } = this.#encode(values);
    return join(names.map((name, index) => sql`${raw(name)} = ${params[index]!}`));
  }

  #encode(values: Partial<ValuesOf<Columns>>): { names: string[]; params: Sql[] } {
    const names = Object.keys(this.fields).filter((name) => values[name] !== undefined);
    const params = names.map((name) => {
      const { codec, isBigint } = this.fields[name]!;
      const value = codec ? codec.encode(values[name]) : (values[name] as Param);
      return isBigint ? sql`cast(${value} as bigint)` : sql`${value}`;
    });
    return { names, params };
  }

  /**
   * @param row as the engine gave it; it is decoded in place.
   * @throws {RowMismatch}
   */
  parse(row: Record<string, unknown>): ValuesOf<Columns> {
    for (const { column, isValid } of this.#checks) {
      if (!isValid(row[column])) throw new RowMismatch(`${this.#name}.${column} is not of its type`);
    }
    for (const { column, codec } of this.#decoders) {
      try {
        row[column] = codec.decode(row[column]);
      } catch {
        throw new RowMismatch(`${this.#name}.${column} is not JSON of its schema`);
      }
    }
    return row as ValuesOf<Columns>;
  }
}

/** @param name the table, or what the query reads, for the error of a row that is not of this shape. */
export const row = <Columns extends Fields>(name: string, columns: Columns): RowSchema<Columns> =>
  new RowSchema(name, columns);
