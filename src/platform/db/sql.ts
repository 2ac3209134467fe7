/** What a statement may bind. Booleans and dates do not exist here: state is a nullable `…_at` in Unix seconds. */
export type Param = string | number | null;

/** SQL with `$1 … $n`, and what they stand for. */
export type Statement = {
  readonly sql: string;
  readonly params?: readonly Param[];
  /** It keeps a count or a time, and changes nothing that the request is about. */
  readonly isIncidental?: boolean;
  /** Set if an engine may run it together with others of its text: see {@link combinable}. */
  readonly key?: string | undefined;
};
/**
 * A piece of SQL with its parameters: a statement, a condition, a list. Made by {@link sql}; pieces nest.
 *
 * `sql` is the text with `$1 … $n` in order of appearance, made once for each shape. Pieces of the same shape share one
 * string, by which both engines find their prepared statement, so nothing is ever numbered or compared by hand.
 */
export class Sql implements Statement {
  readonly shape: Shape;
  readonly params: readonly Param[];
  readonly isIncidental: boolean;
  readonly key: string | undefined;

  constructor(shape: Shape, params: readonly Param[], isIncidental = false, key?: string) {
    this.shape = shape;
    this.params = params;
    this.isIncidental = isIncidental;
    this.key = key;
  }

  get sql(): string {
    return this.shape.text;
  }
}

/** For a statement that keeps a count or a time: an answer may say that nothing was changed although it had effect. */
export const incidental = ({ shape, params }: Sql): Sql => new Sql(shape, params, true);

/**
 * For a statement that many requests make in the same moment, each about a row of its own: PostgreSQL runs those of one
 * moment as one, at a tenth of the cost (decision 38). It is a `select`, or an `update … where … returning …` that may be
 * sent twice, and finds its row by a key alone: see {@link onFoundRow}.
 * @param key of an update's row. Two updates of one row are never run as one, since only one would find it.
 */
export const combinable = ({ shape, params }: Sql, key = ''): Sql => new Sql(shape, params, false, key);

/** The text between the parameters: one piece more than there are parameters. */
class Shape {
  readonly pieces: readonly string[];
  #text: string | undefined;

  constructor(pieces: readonly string[]) {
    this.pieces = pieces;
  }

  get text(): string {
    this.#text ??= this.pieces.reduce((text, piece, index) => `${text}$${index}${piece}`);
    return this.#text;
  }
}

/** Finds the shape of a template again by the shapes of what stands in it. */
class ShapeNode {
  shape: Shape | undefined;
  #withParam: ShapeNode | undefined;
  #withPiece: Map<Shape, ShapeNode> | undefined;

  next(value: Param | Sql): ShapeNode {
    if (!(value instanceof Sql)) {
      this.#withParam ??= new ShapeNode();
      return this.#withParam;
    }
    this.#withPiece ??= new Map();
    let node = this.#withPiece.get(value.shape);
    if (node === undefined) {
      node = new ShapeNode();
      this.#withPiece.set(value.shape, node);
    }
    return node;
  }
}

const templates = new WeakMap<readonly string[], ShapeNode>();

/**
 * `` sql`update users set name = ${name} where user_id = ${user_id} and ${isActive(at)}` ``
 * Values become parameters, each its own also when equal; pieces are inserted with theirs. Give it code of ours only:
 * the number of shapes must stay small.
 */
export function sql(strings: readonly string[], ...values: (Param | Sql)[]): Sql {
  let node = templates.get(strings);
  if (node === undefined) {
    node = new ShapeNode();
    templates.set(strings, node);
  }
  const params: Param[] = [];
  for (const value of values) {
    node = node.next(value);
    if (value instanceof Sql) params.push(...value.params);
    else params.push(value);
  }
  node.shape ??= shapeOf(strings, values);
  return new Sql(node.shape, params);
}

function shapeOf(strings: readonly string[], values: readonly (Param | Sql)[]): Shape {
  const pieces = [strings[0] ?? ''];
  for (const [index, value] of values.entries()) {
    const [first, ...rest] = value instanceof Sql ? value.shape.pieces : ['', ''];
    pieces.push(`${pieces.pop()}${first}`, ...rest);
    pieces.push(`${pieces.pop()}${strings[index + 1]}`);
  }
  return new Shape(pieces);
}

const rawShapes = new Map<string, Shape>();

/** Text as it stands: the name of a table or column. Never anything that came from outside. */
export function raw(text: string): Sql {
  let shape = rawShapes.get(text);
  if (shape === undefined) {
    shape = new Shape([text]);
    rawShapes.set(text, shape);
  }
  return new Sql(shape, []);
}

/** @throws {RangeError} for an empty list, which SQL has no word for. */
export function join(
  items: readonly (Param | Sql)[],
  separator: ', ' | ' and ' | ' or ' | ' || ' | ' union all ' = ', ',
): Sql {
  if (items.length === 0) throw new RangeError('An empty list has no SQL.');
  return sql(separators(separator, items.length), ...items);
}

const separatorLists = new Map<string, readonly string[]>();

function separators(separator: string, items: number): readonly string[] {
  const key = `${items}${separator}`;
  let strings = separatorLists.get(key);
  if (strings === undefined) {
    strings = ['', ...Array.from({ length: items - 1 }, () => separator), ''];
    separatorLists.set(key, strings);
  }
  return strings;
}

/** For the right side of `in`: `` sql`status in ${oneOf(statuses)}` ``. Of an empty list no value is one. */
export const oneOf = (values: readonly Param[]): Sql => (values.length === 0 ? sql`(null)` : sql`(${join(values)})`);

/** All of them; true if there are none. */
export const allOf = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0
    ? sql`1 = 1`
    : join(
        conditions.map((condition) => sql`(${condition})`),
        ' and ',
      );

/** PostgreSQL takes a parameter for text wherever nothing beside it has a type: in a select list, in `coalesce`. */
export const asBigint = (value: Param): Sql => sql`cast(${value} as bigint)`;
export const asText = (value: Param): Sql => sql`cast(${value} as text)`;

/**
 * A condition that is evaluated on rows that the rest of the `where` has found, and finds none itself. From outdated
 * statistics PostgreSQL takes any index for as good as a primary key: a refresh once read all grants of its client.
 */
export const onFoundRow = (condition: Sql): Sql => sql`case when ${condition} then 1 else 0 end = 1`;
