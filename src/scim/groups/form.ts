import { invalidValue, scimError } from '../errors.ts';
import { type Filter, parsePatchPath } from '../filter.ts';
import type { PatchOperation } from '../patch.ts';

/** Who is to be in a group: some more and some less, or exactly these. */
export type WantedMembers = { isAll: boolean; added: ReadonlySet<string>; removed: ReadonlySet<string> };
export type GroupForm = { displayName: string | null; externalId: string | null; members: WantedMembers };

/** Members that one request names. */
export const mostMembersNamed = 1000;

type Building = { isAll: boolean; added: Set<string>; removed: Set<string> };
type Form = { displayName: string | null; externalId: string | null; members: Building };

/** What POST and PUT send. @throws {RequestError} in the words of RFC 7644. */
export function readGroup(body: Readonly<Record<string, unknown>>): GroupForm {
  const members: Building = { isAll: true, added: new Set(), removed: new Set() };
  const form: Form = { displayName: null, externalId: null, members };
  for (const [name, value] of Object.entries(body)) assignMember(form, name, value);
  return bounded(form);
}

function assignMember(form: Form, name: string, value: unknown): void {
  const lower = name.toLowerCase();
  if (lower === 'displayname') form.displayName = readText(lower, value);
  if (lower === 'externalid') form.externalId = readText(lower, value);
  if (lower === 'members' && value !== null) changeMembers(form.members, 'add', idsOf(value));
}

/** @throws {RequestError} in the words of RFC 7644 §3.5.2. */
export function patchGroup(
  before: Pick<GroupForm, 'displayName' | 'externalId'>,
  operations: readonly PatchOperation[],
): GroupForm {
  const form: Form = { ...before, members: { isAll: false, added: new Set(), removed: new Set() } };
  for (const { op, path, value } of operations) {
    if (path !== undefined) patchAt(form, { op, path, value });
    else if (op === 'remove') throw scimError(400, 'noTarget', 'The operation remove needs a path.');
    else if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalidValue('An operation without a path needs an object as its value.');
    else for (const [name, one] of Object.entries(value)) patchAt(form, { op, path: name, value: one });
  }
  return bounded(form);
}

const readOnly: ReadonlySet<string> = new Set(['id', 'meta', 'schemas']);

function patchAt(form: Form, { op, path, value }: { op: PatchOperation['op']; path: string; value: unknown }): void {
  if (readOnly.has(path.toLowerCase()) && op !== 'remove') return; // Okta sends the id along
  const { extension, attribute, sub, filter } = parsePatchPath(path);
  if (extension !== undefined) return;
  const isPlain = sub === undefined && filter === undefined;
  if (attribute === 'members' && sub === undefined) patchMembers(form.members, { op, filter, value });
  else if (isPlain && attribute === 'displayname')
    form.displayName = op === 'remove' ? null : readText(attribute, value);
  else if (isPlain && attribute === 'externalid') form.externalId = op === 'remove' ? null : readText(attribute, value);
  else if (readOnly.has(attribute)) throw scimError(400, 'mutability', `The attribute ${attribute} is read-only.`);
  else throw scimError(400, 'invalidPath', 'The path names no attribute of a group.');
}

function patchMembers(
  members: Building,
  { op, filter, value }: { op: PatchOperation['op']; filter: Filter | undefined; value: unknown },
): void {
  if (filter !== undefined) {
    if (op !== 'remove')
      throw scimError(400, 'invalidPath', 'Of one member there is nothing to change: add or remove it.');
    changeMembers(members, 'remove', idsInFilter(filter));
    return;
  }
  // Entra ID names in the value whom `remove` is about.
  const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  if (op === 'remove' && !isEmpty) {
    changeMembers(members, 'remove', idsOf(value));
    return;
  }
  if (op !== 'add') {
    members.isAll = true;
    members.added.clear();
    members.removed.clear();
  }
  if (op !== 'remove' && !isEmpty) changeMembers(members, 'add', idsOf(value));
}

function changeMembers(members: Building, op: 'add' | 'remove', ids: readonly string[]): void {
  const [to, from] = op === 'add' ? [members.added, members.removed] : [members.removed, members.added];
  for (const id of ids) {
    to.add(id);
    from.delete(id);
  }
}

function idsInFilter(filter: Filter): string[] {
  if (filter.kind === 'or') return filter.filters.flatMap(idsInFilter);
  const isId =
    filter.kind === 'compare' &&
    filter.op === 'eq' &&
    filter.path.attribute === 'value' &&
    filter.path.sub === undefined &&
    typeof filter.value === 'string';
  if (!isId) throw scimError(400, 'invalidFilter', 'Members are found by eq on value.');
  return [String(filter.value)];
}

function idsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map((one) => {
    if (typeof one === 'string') return one;
    const members: Record<string, unknown> = typeof one === 'object' && one !== null ? { ...one } : {};
    const type = members.type;
    if (typeof type === 'string' && type.toLowerCase() === 'group')
      throw invalidValue('A member of a group is a user: groups in groups are not supported.');
    if (typeof members.value !== 'string') throw invalidValue('A member has a value, the id of a user.');
    return members.value;
  });
}

function bounded(form: GroupForm): GroupForm {
  const { added, removed } = form.members;
  if (added.size + removed.size > mostMembersNamed)
    throw scimError(400, 'tooMany', `Name at most ${mostMembersNamed} members in one request.`);
  return form;
}

function readText(name: string, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string') throw invalidValue(`The attribute ${name} is a string.`);
  return value.trim() === '' ? null : value.trim();
}
