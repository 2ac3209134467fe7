import type { AddressDeps } from '../accounts/statements.ts';
import { scimError } from './errors.ts';
import { type AttributePath, type Filter, parseFilter } from './filter.ts';

/** A part of a list. `offset` counts from 0. */
export type Window = { offset: number; limit: number };
export type Page<Row> = { total: number; rows: readonly Row[] };

const mostEqualities = 5;

/** An attribute, in lower case with its sub-attribute, and what it must equal. */
export type Equality = { attribute: string; value: string };

/**
 * What a filter asks for, if it is made of equalities that are joined by `and`, each of an attribute by which resources are found. Other
 * filters would have to read every resource.
 * @throws {RequestError} with `invalidFilter`.
 */
export function readEqualities(text: string, lookups: readonly string[]): readonly Equality[] {
  const equalities = equalitiesOf(parseFilter(text));
  const isSupported =
    equalities !== undefined &&
    equalities.length > 0 &&
    equalities.length <= mostEqualities &&
    equalities.every(({ attribute }) => lookups.includes(attribute));
  if (!isSupported)
    throw scimError(
      400,
      'invalidFilter',
      `This filter is not supported. It may compare by eq, and join by and: ${lookups.join(', ')}.`,
    );
  return equalities;
}

function equalitiesOf(filter: Filter, within?: AttributePath): Equality[] | undefined {
  if (filter.kind === 'and') {
    const parts = filter.filters.map((one) => equalitiesOf(one, within));
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  if (filter.kind === 'within') return within === undefined ? equalitiesOf(filter.filter, filter.path) : undefined;
  if (filter.kind !== 'compare' || filter.op !== 'eq' || typeof filter.value !== 'string') return undefined;
  const { path, value } = filter;
  if (path.extension !== undefined) return undefined;
  const parts = [within?.attribute, path.attribute, path.sub].filter((part) => part !== undefined);
  const attribute = parts.join('.');
  // `emails[type eq "work" and value eq "…"]`: every address is of that type.
  if (attribute === 'emails.type') return value.toLowerCase() === 'work' ? [] : undefined;
  return [{ attribute, value }];
}

type Lookups = Readonly<Record<string, (deps: AddressDeps, value: string) => Promise<readonly string[]>>>;

/** The ids that every equality finds. Each finds few. */
export async function intersectionOf(
  deps: AddressDeps,
  equalities: readonly Equality[],
  lookups: Lookups,
): Promise<readonly string[]> {
  const sets = await Promise.all(equalities.map(({ attribute, value }) => lookups[attribute]!(deps, value)));
  const [first = [], ...others] = sets;
  return first.filter((id) => others.every((ids) => ids.includes(id)));
}
