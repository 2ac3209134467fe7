import { scimError } from './errors.ts';

// Filters (RFC 7644 §3.4.2.2) and the paths of PATCH (§3.5.2), which have a filter in them.

const operators = ['eq', 'ne', 'co', 'sw', 'ew', 'pr', 'gt', 'ge', 'lt', 'le'] as const;
type Operator = (typeof operators)[number];
export type Literal = string | number | boolean | null;

/** In lower case, since names of attributes have no case (RFC 7643 §2.1). */
export type AttributePath = {
  /** The URN of the schema, if it was named and is not that of users or groups itself. */
  extension: string | undefined;
  attribute: string;
  sub: string | undefined;
};

export type Filter =
  | { kind: 'compare'; path: AttributePath; op: Operator; value: Literal }
  | { kind: 'and' | 'or'; filters: readonly Filter[] }
  | { kind: 'not'; filter: Filter }
  /** `emails[type eq "work"]` */
  | { kind: 'within'; path: AttributePath; filter: Filter };

export type PatchPath = AttributePath & { filter: Filter | undefined };

/** Characters. */
const longest = 1000;
const deepest = 8;

const token = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|(\.)(?=[A-Za-z$])|([A-Za-z$][\w$:.-]*)|(-?\d[\d.eE+-]*))/y;

type Token = { kind: 'text' | 'sign' | 'word' | 'number'; text: string };

function tokensOf(text: string): Token[] {
  const found: Token[] = [];
  token.lastIndex = 0;
  const end = text.trimEnd().length;
  while (token.lastIndex < end) {
    const match = token.exec(text) ?? [];
    const [, quoted, bracket, dot, word, number] = match;
    if (match[0] === undefined) throw malformed();
    if (quoted !== undefined) found.push({ kind: 'text', text: quoted });
    else if (bracket ?? dot) found.push({ kind: 'sign', text: bracket ?? '.' });
    else if (word !== undefined) found.push({ kind: 'word', text: word });
    else found.push({ kind: 'number', text: number ?? '' });
  }
  return found;
}

class Malformed extends Error {}
const malformed = () => new Malformed();

class Reader {
  private place = 0;
  private readonly tokens: readonly Token[];

  constructor(text: string) {
    this.tokens = tokensOf(text);
  }

  get atEnd(): boolean {
    return this.place === this.tokens.length;
  }

  /** Whether the next token is this sign or word, which is then passed. */
  passes(kind: Token['kind'], text: string): boolean {
    const next = this.tokens[this.place];
    const isIt = next?.kind === kind && next.text.toLowerCase() === text;
    if (isIt) this.place += 1;
    return isIt;
  }

  next(): Token {
    const next = this.tokens[this.place];
    if (!next) throw malformed();
    this.place += 1;
    return next;
  }

  word(): string {
    const { kind, text } = this.next();
    if (kind !== 'word') throw malformed();
    return text;
  }
}

/** `and` binds more than `or`. */
function readOr(reader: Reader, depth: number): Filter {
  if (depth > deepest) throw malformed();
  const filters = [readAnd(reader, depth)];
  while (reader.passes('word', 'or')) filters.push(readAnd(reader, depth));
  return filters.length === 1 ? filters[0]! : { kind: 'or', filters };
}

function readAnd(reader: Reader, depth: number): Filter {
  const filters = [readOne(reader, depth)];
  while (reader.passes('word', 'and')) filters.push(readOne(reader, depth));
  return filters.length === 1 ? filters[0]! : { kind: 'and', filters };
}

function readOne(reader: Reader, depth: number): Filter {
  if (reader.passes('sign', '(')) return readClosed(reader, depth, ')');
  const word = reader.word();
  if (word.toLowerCase() === 'not' && reader.passes('sign', '('))
    return { kind: 'not', filter: readClosed(reader, depth, ')') };
  const path = attributePath(word);
  if (reader.passes('sign', '[')) {
    const within = { kind: 'within', path, filter: readClosed(reader, depth, ']') } as const;
    // `emails[type eq "work"].value eq "…"`: no standard has it, and Entra ID sends it.
    if (!reader.passes('sign', '.')) return within;
    return { kind: 'and', filters: [within, readComparison(reader, { ...path, sub: reader.word().toLowerCase() })] };
  }
  return readComparison(reader, path);
}

function readComparison(reader: Reader, path: AttributePath): Filter {
  const op = operators.find((one) => reader.passes('word', one));
  if (op === undefined) throw malformed();
  return { kind: 'compare', path, op, value: op === 'pr' ? null : readLiteral(reader) };
}

function readClosed(reader: Reader, depth: number, close: string): Filter {
  const filter = readOr(reader, depth + 1);
  if (!reader.passes('sign', close)) throw malformed();
  return filter;
}

function readLiteral(reader: Reader): Literal {
  const { kind, text } = reader.next();
  if (kind === 'sign') throw malformed();
  try {
    // Entra ID writes `True`.
    const value: unknown = JSON.parse(kind === 'word' ? text.toLowerCase() : text);
    return value as Literal;
  } catch {
    throw malformed();
  }
}

/** Of users and groups themselves: naming it changes nothing. */
const ownSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):(?=.)/;

export function attributePath(word: string): AttributePath {
  const bare = word.toLowerCase().replace(ownSchema, '');
  const colon = bare.lastIndexOf(':');
  const [attribute = '', sub, ...others] = bare.slice(colon + 1).split('.');
  if (attribute === '' || sub === '' || others.length > 0) throw malformed();
  return { extension: colon < 0 ? undefined : bare.slice(0, colon), attribute, sub };
}

function read<Result>(text: string, reading: (reader: Reader) => Result, refuse: () => Error): Result {
  try {
    if (text.length > longest) throw malformed();
    const reader = new Reader(text);
    const result = reading(reader);
    if (!reader.atEnd) throw malformed();
    return result;
  } catch (error) {
    throw error instanceof Malformed ? refuse() : error;
  }
}

/** @throws {RequestError} with `invalidFilter`. */
export const parseFilter = (text: string): Filter =>
  read(
    text,
    (reader) => readOr(reader, 0),
    () => scimError(400, 'invalidFilter', 'The filter is not one of RFC 7644 section 3.4.2.2, or is too long.'),
  );

/** `name.givenName`, `members[value eq "…"]`, `emails[type eq "work"].value`. @throws {RequestError} with `invalidPath`. */
export const parsePatchPath = (text: string): PatchPath =>
  read(
    text,
    (reader) => {
      const path = attributePath(reader.word());
      const filter = reader.passes('sign', '[') ? readClosed(reader, 0, ']') : undefined;
      const sub = filter !== undefined && reader.passes('sign', '.') ? reader.word().toLowerCase() : path.sub;
      return { ...path, sub, filter };
    },
    () => scimError(400, 'invalidPath', 'The path is not one of RFC 7644 section 3.5.2, or is too long.'),
  );
