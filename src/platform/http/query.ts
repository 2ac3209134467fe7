import type { Static, TObject, TProperties } from 'typebox';
import { invalidFields, invalidRequest } from '../errors.ts';
import { type FormText, type Parameters, parseParameters, queryOf, readForm } from './parameters.ts';

/**
 * The query of an address for programs.
 * @throws {RequestError} `invalid_request` for a parameter that came twice.
 */
export function readQuery(request: { url: string }): Parameters {
  const { values, repeated } = parseParameters(queryOf(request.url));
  if (repeated.size > 0) throw invalidRequest('A parameter was sent more than once.');
  return values;
}

type Range = { least: number; most: number };

/** @throws {RequestError} `invalid_request` unless it is left out or a whole number in that range. */
export function readNumber(query: Parameters, name: string, { least, most }: Range): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw invalidFields([{ path: name, message: `Must be a whole number from ${least} to ${most}.` }]);
}

/** As many as a page of a list has. */
export const readLimit = (query: Parameters, otherwise = 50): number =>
  readNumber(query, 'limit', { least: 1, most: 500 }) ?? otherwise;

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
 * The parameters that a schema names: whole numbers, one of a list, or text.
 * @throws {RequestError} `invalid_request` with the parameter that is wrong, or for one that came twice.
 */
export function readQueryAs<Query extends TProperties>(schema: Query, text: FormText): Static<TObject<Query>> {
  const query = readForm(text);
  const read = (
    name: string,
    {
      enum: choices,
      type,
      minimum: least = 0,
      maximum: most = Number.MAX_SAFE_INTEGER,
      default: otherwise,
    }: ParameterSchema,
  ) => {
    if (type === 'integer') return readNumber(query, name, { least, most }) ?? otherwise;
    return choices ? readChoice(query, name, choices) : query[name];
  };
  const entries = Object.entries(schema).map(([name, one]) => [name, read(name, one as ParameterSchema)]);
  return Object.fromEntries(entries) as Static<TObject<Query>>;
}
