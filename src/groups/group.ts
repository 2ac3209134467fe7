import { type FieldProblem, fieldProblem } from '../platform/errors.ts';
import type { GroupId } from '../platform/ids.ts';
import { displayNameProblem, isSeen } from '../platform/text.ts';
import { groupNameKey } from './name-key.ts';
import type { Group as StoredGroup } from './store.ts';

export { groupNameKey };
export type Group = StoredGroup;

/** Characters. */
export const longestDescription = 500;
export const longestExternalId = 255;

/** Bytes: the key of a name is the place in a list, and one character may become eighteen of it. */
const longestKey = 440;

/** What one user may be in: all of them are strings of one claim, and rows of one answer. */
export const maxGroupsOfUser = 200;
/** What a client may name. */
export const maxGroupsOfClient = 50;
/** What there may be. */
export const maxGroups = 10_000;

export const isGroupId = (text: string): text is string & GroupId => /^grp_[\w-]{1,60}$/.test(text);

export function groupProblems({
  name,
  description,
  external_id,
}: {
  name: string;
  description?: string | null | undefined;
  external_id?: string | null | undefined;
}): FieldProblem[] {
  const isName = displayNameProblem(name) === undefined && Buffer.byteLength(groupNameKey(name.trim())) <= longestKey;
  const isText = (text: string, most: number) => text.length <= most && isSeen(text);
  return [
    ...(isName ? [] : [fieldProblem('name', { key: 'problem.name' })]),
    ...(isText((description ?? '').trim(), longestDescription)
      ? []
      : [fieldProblem('description', { key: 'problem.group.description', values: { max: longestDescription } })]),
    ...(isText(external_id ?? '', longestExternalId)
      ? []
      : [fieldProblem('external_id', { key: 'problem.group.external_id', values: { max: longestExternalId } })]),
  ];
}
