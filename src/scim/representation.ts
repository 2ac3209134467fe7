import { digest } from '../platform/ids.ts';
import { outdated, scimError } from './errors.ts';

export type Resource = {
  type: 'User' | 'Group';
  schema: string;
  id: string;
  location: string;
  /** Unix seconds. */
  created_at: number;
  updated_at: number;
  /** What the version is of. */
  content: object;
  /** Beside it, what the resource does not say of itself, such as the groups of a user. */
  readOnly: object;
  /** In place of one that is made of the content. */
  version?: string;
};

/** Which attributes an answer has; lists of names in lower case. */
export type Selection = { attributes: readonly string[] | undefined; excluded: readonly string[] };

export const everything: Selection = { attributes: undefined, excluded: [] };

/** A weak entity tag: another one for each other content (RFC 7644 §3.14). */
export const versionOf = ({ version, content }: Resource): string =>
  `W/"${(version === undefined ? digest(JSON.stringify(content)) : digest(version)).slice(0, 22)}"`;

export function represent(resource: Resource, selection: Selection): object {
  const { type, schema, id, location, created_at, updated_at, content, readOnly } = resource;
  const meta = {
    resourceType: type,
    created: isoTime(created_at),
    lastModified: isoTime(updated_at),
    location,
    version: versionOf(resource),
  };
  return { schemas: [schema], id, ...select({ ...content, ...readOnly, meta }, selection) };
}

const isoTime = (at: number): string => new Date(at * 1000).toISOString();

function select(members: Readonly<Record<string, unknown>>, { attributes, excluded }: Selection): object {
  const kept = Object.entries(members).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (attributes === undefined ? excluded.includes(lower) : false) return [];
    if (attributes === undefined || attributes.includes(lower))
      return [[name, attributes === undefined ? without(value, lower, excluded) : value] as const];
    const subs = subsOf(attributes, lower);
    return subs.length === 0 ? [] : [[name, onEach(value, (sub) => subs.includes(sub))] as const];
  });
  return Object.fromEntries(kept);
}

const subsOf = (names: readonly string[], attribute: string) =>
  names.filter((name) => name.startsWith(`${attribute}.`)).map((name) => name.slice(attribute.length + 1));

function without(value: unknown, attribute: string, excluded: readonly string[]): unknown {
  const subs = subsOf(excluded, attribute);
  return subs.length === 0 ? value : onEach(value, (sub) => !subs.includes(sub));
}

/** The members of an object, or of each object of a list, that are to stay. */
function onEach(value: unknown, stays: (sub: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => onEach(one, stays));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => stays(name.toLowerCase())));
}

/** Whether an answer has an attribute, or a part of it. */
export const selects = ({ attributes, excluded }: Selection, attribute: string): boolean =>
  attributes === undefined
    ? !excluded.includes(attribute)
    : attributes.some((name) => name === attribute || name.startsWith(`${attribute}.`));

const mostNames = 50;

/** @param sent lists of names, as parameters or in a search. @throws {RequestError} with `invalidValue` for both at once. */
export function readSelection(sent: { attributes: unknown; excludedattributes: unknown }): Selection {
  const attributes = namesIn(sent.attributes);
  const excluded = namesIn(sent.excludedattributes) ?? [];
  if (attributes !== undefined && excluded.length > 0)
    throw scimError(400, 'invalidValue', 'Send either attributes or excludedAttributes.');
  return { attributes, excluded };
}

function namesIn(sent: unknown): string[] | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  const names = Array.isArray(sent) ? sent : String(sent).split(',');
  if (names.length > mostNames) throw scimError(400, 'invalidValue', `Name at most ${mostNames} attributes.`);
  return names
    .map((name) => String(name).trim().toLowerCase())
    .map((name) => (name.startsWith('urn:') ? name.slice(name.lastIndexOf(':') + 1) : name));
}

/** Whether a header of several tags has this one; a weak comparison. */
export const hasTag = (header: string, tag: string): boolean =>
  header.trim() === '*' || header.split(',').some((one) => bareTag(one) === bareTag(tag));

const bareTag = (tag: string): string => tag.trim().replace(/^W\//, '');

/** @throws {RequestError} 412 if a header `If-Match` names another version than this one. */
export function requireVersion(resource: Resource, ifMatch: string | undefined): void {
  if (ifMatch !== undefined && !hasTag(ifMatch, versionOf(resource))) throw outdated();
}
