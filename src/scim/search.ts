import type { AddressDeps } from '../accounts/statements.ts';
import { parseParameters, queryOf } from '../platform/http/parameters.ts';
import { invalidValue } from './errors.ts';
import { type Equality, readEqualities } from './find.ts';
import { findGroupPage, groupLookups, groupResources } from './groups/find-groups.ts';
import { readObject } from './patch.ts';
import { readSelection, represent, type Selection } from './representation.ts';
import { defaultResults, mostResults } from './schemas.ts';
import { findUserPage, userLookups, userResources } from './users/find-users.ts';

/** Of a request that reads one resource, or several. */
export type Query = {
  selection: Selection;
  filter: string | undefined;
  /** From 0. */
  offset: number;
  limit: number;
};

/** Names have no case (RFC 7644 §3.4.2). @throws {RequestError} for values that are none. */
export function readQuery(url: string): Query {
  const { values } = parseParameters(queryOf(url));
  return queryFrom(Object.entries(values));
}

/** The same of a search by POST. */
export const readSearch = (body: unknown): Query => queryFrom(Object.entries(readObject(body)));

function queryFrom(entries: readonly (readonly [string, unknown])[]): Query {
  const sent = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
  const { filter, startindex, count } = sent;
  if (filter !== undefined && typeof filter !== 'string') throw invalidValue('The filter is a string.');
  return {
    selection: readSelection({ attributes: sent.attributes, excludedattributes: sent.excludedattributes }),
    filter: filter || undefined,
    offset: Math.max(1, readInteger('startIndex', startindex) ?? 1) - 1,
    limit: Math.min(mostResults, Math.max(0, readInteger('count', count) ?? defaultResults)),
  };
}

function readInteger(name: string, sent: unknown): number | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  const number = Number(sent);
  if (!Number.isSafeInteger(number)) throw invalidValue(`${name} is a whole number.`);
  return number;
}

type ResourceType = 'User' | 'Group';

/**
 * The resources of some types, one type after the other.
 * @throws {RequestError} `invalidFilter` for a filter by which none of the types is found.
 */
export async function search(
  deps: AddressDeps,
  root: string,
  types: readonly ResourceType[],
  { selection, filter, offset, limit }: Query,
): Promise<object> {
  const { db } = deps;
  const searched = typesFor(types, filter);
  const found: object[] = [];
  let total = 0;
  for (const { type, equalities } of searched) {
    const window = { offset: Math.max(0, offset - total), limit: limit - found.length };
    if (type === 'User') {
      const page = await findUserPage(deps, equalities, window);
      total += page.total;
      const resources = await userResources(db, root, page.rows, selection);
      found.push(...resources.map((one) => represent(one, selection)));
    } else {
      const page = await findGroupPage(deps, equalities, window);
      total += page.total;
      const resources = await groupResources(db, root, page.rows, selection);
      found.push(...resources.map((one) => represent(one, selection)));
    }
  }
  return listResponse(total, offset, found);
}

const lookupsOf = { User: userLookups, Group: groupLookups } as const;

/** Of several types those of which the filter speaks. */
function typesFor(
  types: readonly ResourceType[],
  filter: string | undefined,
): { type: ResourceType; equalities: readonly Equality[] | undefined }[] {
  if (filter === undefined) return types.map((type) => ({ type, equalities: undefined }));
  if (types.length === 1) return types.map((type) => ({ type, equalities: readEqualities(filter, lookupsOf[type]) }));
  const equalities = readEqualities(
    filter,
    types.flatMap((type) => lookupsOf[type]),
  );
  return types
    .filter((type) => equalities.every(({ attribute }) => lookupsOf[type].includes(attribute)))
    .map((type) => ({ type, equalities }));
}

/** RFC 7644 §3.4.2. */
export const listResponse = (totalResults: number, offset: number, resources: readonly object[]): object => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
  startIndex: offset + 1,
  itemsPerPage: resources.length,
  Resources: resources,
});
