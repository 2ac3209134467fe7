import { invalidFields, invalidRequest, RequestError } from '../errors.ts';
import type { Static, TObject, TProperties } from '../schema.ts';

/** Form or query parameters: one value each, empty counts as absent (OAuth 2.1 §3.1). No prototype. */
export type Parameters = Readonly<Record<string, string | undefined>>;

export const maxParameters = 100;

/**
 * Reads `application/x-www-form-urlencoded` text strictly.
 * @returns the first value of each name, the names that came more than once, and every value of a name.
 * @throws {RequestError} `invalid_request` for broken percent-encoding, NUL, or more than 100 parameters.
 */
export type ParsedParameters = {
  readonly values: Parameters;
  readonly repeated: ReadonlySet<string>;
  /** Of a parameter that may come several times, in their order. */
  all(name: string): readonly string[];
};

export function parseParameters(text: string): ParsedParameters {
  const values: Record<string, string | undefined> = Object.create(null);
  const repeated = new Set<string>();
  const pairs: (readonly [name: string, value: string])[] = [];
  const all = (name: string) => pairs.flatMap(([other, value]) => (other === name && value !== '' ? [value] : []));
  if (text === '') return { values, repeated, all };
  const parts = text.split('&', maxParameters + 1);
  if (parts.length > maxParameters) throw invalidRequest('There are more than 100 parameters.');
  const seen = new Set<string>();
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    if (seen.has(name)) repeated.add(name);
    else if (value !== '') values[name] = value;
    seen.add(name);
    pairs.push([name, value]);
  }
  return { values, repeated, all };
}

/**
 * A parameter that came twice is refused when it is read; others are ignored, however often they came (OAuth 2.1 §3.1, §3.2.2).
 * @param defined names that are refused at once if they came twice, even if they are not read.
 * @throws {RequestError} `invalid_request`; `invalid_scope` for `scope`, from here or from reading a member of what is returned.
 */
export function readForm(body: unknown, defined: readonly string[] = []): Parameters {
  if (body === undefined || body === null) return Object.create(null);
  if (!(body instanceof FormText)) throw invalidRequest('The body must be application/x-www-form-urlencoded.');
  const { values, repeated } = parseParameters(body.text);
  for (const name of repeated)
    Object.defineProperty(values, name, { enumerable: true, get: () => refuseRepeated(name) });
  const twice = defined.find((name) => repeated.has(name));
  return twice === undefined ? values : refuseRepeated(twice);
}

/** Every value of a parameter that may come several times; none where there is no form. @throws {RequestError} as {@link readForm}. */
export const readAll = (body: unknown, name: string): readonly string[] =>
  body instanceof FormText ? parseParameters(body.text).all(name) : [];

/** @param name of a parameter that is defined here, so its name is not input. */
function refuseRepeated(name: string): never {
  throw new RequestError(name === 'scope' ? 'invalid_scope' : 'invalid_request', `${name} was sent more than once.`);
}

/** A form body as it arrived, since routes treat repeated parameters differently. */
export class FormText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The query string of a request target, without its question mark. */
export const queryOf = (url: string): string => (url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');

/** `application/x-www-form-urlencoded` (URL Standard §5.1). @throws {URIError} */
export const formDecode = (text: string): string =>
  /[%+]/.test(text) ? decodeURIComponent(text.replaceAll('+', ' ')) : text;

function decode(text: string): string {
  let decoded: string;
  try {
    decoded = formDecode(text);
  } catch {
    throw invalidRequest('A parameter is not valid percent-encoded UTF-8.');
  }
  if (decoded.includes('\0')) throw invalidRequest('A parameter contains a NUL character.');
  return decoded;
}

/** @param pattern of a route, such as `/users/:user_id`. */
export const fillPath = (pattern: string, parameters: Readonly<Record<string, string | undefined>>): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));

/** @throws {RequestError} `invalid_request` unless it is left out or one of those. */
export function readChoice<Choice extends string>(
  query: Parameters,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = query[name];
  const choice = choices.find((one) => one === text);
  if (text === undefined || choice !== undefined) return choice;
  throw invalidFields([{ path: name, message: `Must be one of: ${choices.join(', ')}.` }]);
}

type ParameterSchema = {
  enum?: readonly string[];
  type?: string;
  minimum?: number;
  maximum?: number;
  default?: unknown;
};

/**
 * The parameters that a schema names: whole numbers, one of a list, or text. Others are ignored.
 * @throws {RequestError} `invalid_request` with the parameter that is wrong, or for one that came twice.
 */
export function readQueryAs<Query extends TProperties>(schema: Query, text: FormText): Static<TObject<Query>> {
  const query = readForm(text);
  const read = (name: string, one: ParameterSchema) => {
    if (one.type === 'integer') return readInteger(query, name, one) ?? one.default;
    return one.enum ? readChoice(query, name, one.enum) : query[name];
  };
  const entries = Object.entries(schema).map(([name, one]) => [name, read(name, one as ParameterSchema)]);
  return Object.fromEntries(entries) as Static<TObject<Query>>;
}

function readInteger(query: Parameters, name: string, schema: ParameterSchema): number | undefined {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const text = query[name];
  if (text === undefined) return undefined;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= minimum && number <= maximum) return number;
  throw invalidFields([{ path: name, message: `Must be a whole number from ${minimum} to ${maximum}.` }]);
}
