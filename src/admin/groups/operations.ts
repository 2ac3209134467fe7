import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { addMember, removeMember } from '../../groups/change-members.ts';
import { countedMembersAtMost, countMembersOf, pageOfGroups, pageOfMembers } from '../../groups/find-groups.ts';
import { type Group, longestDescription, longestExternalId } from '../../groups/group.ts';
import { createGroup, deleteGroup, editGroup, requireGroup } from '../../groups/manage-groups.ts';
import type { Deps } from '../../oauth/deps.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, nameInCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { list, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { administration, strictBody } from '../operation-parts.ts';

const GroupRecord = Type.Object({
  group_id: Type.String({ description: '`grp_...`' }),
  name: Type.String({
    description: 'As apps read it in the claim `groups`. No two groups have names that differ in case alone.',
  }),
  description: nullable(Type.String()),
  external_id: nullable(Type.String({ description: 'What another system that maintains the group calls it.' })),
  created_at: Time,
  updated_at: Time,
});

const Counted = Type.Object({
  ...GroupRecord.properties,
  member_count: Type.Integer({ minimum: 0, description: `Up to ${countedMembersAtMost + 1}, which stands for more.` }),
});

const record = ({ event_id: _, ...group }: Group) => group;
const counted = async (deps: Deps, group: Group) => ({
  ...record(group),
  member_count: await countMembersOf(deps, group),
});

const name = Type.String({ description: 'As apps read it in the claim `groups`.', ...nameInCode });
const text = (description: string, maxLength: number) =>
  Type.Optional(nullable(Type.String({ description, ...inCode({ maxLength, pattern: textPatterns.seen }) })));
const description = text('What it is for, for administrators.', longestDescription);
const external_id = text('What another system that maintains the group calls it.', longestExternalId);

const anyGroup = { group_id: 'ID of a group, `grp_...`.' };

const one = (permission: AdministrativePermission) =>
  ({
    ...administration(permission),
    parameters: anyGroup,
    answer: { description: 'The group.', schema: Counted },
    refusals: ['not_found'],
  }) as const;

const user = Type.String({ minLength: 1, maxLength: 254, description: 'user_id or email address.' });
const member = {
  ...administration('groups:write'),
  parameters: anyGroup,
  method: 'POST',
  body: strictBody({ user }),
  example: { user: 'ada@example.com' },
  refusals: ['not_found', 'invalid_state'],
} as const;
const Changed = Type.Object({ changed: Type.Boolean({ description: 'False if it was so before.' }) });

const countText = (members: number) =>
  members > countedMembersAtMost ? `more than ${countedMembersAtMost}` : String(members);

const describe = (group: (Group & { member_count: number }) | (ReturnType<typeof record> & { member_count: number })) =>
  table([
    ['Group', group.group_id],
    ['Name', group.name],
    ['Description', group.description ?? ''],
    ['External ID', group.external_id ?? ''],
    ['Members', countText(group.member_count)],
    ['Created', time(group.created_at)],
  ]);

export const groupOperations = {
  list: operation({
    ...administration('groups:read'),
    id: 'listGroups',
    method: 'GET',
    path: '/v1/admin/groups',
    summary: 'List groups by name',
    query: {
      query: Type.Optional(Type.String({ maxLength: 100, description: 'The beginning of the name.' })),
      ...paging,
    },
    answer: {
      description: 'By name.',
      schema: Type.Object({ groups: Type.Array(GroupRecord), next: nullable(Type.String()) }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { groups, next = null } = await pageOfGroups(deps, query);
      return { groups: groups.map(record), next };
    },
    command: {
      name: 'groups list',
      text: ({ groups, next }) =>
        [
          list([
            ['GROUP', 'NAME', 'DESCRIPTION'],
            ...groups.map((one) => [one.group_id, one.name, one.description ?? '']),
          ]),
          ...(next === null ? [] : [`More results: --after ${next}`]),
        ].join('\n\n'),
    },
  }),

  create: operation({
    ...administration('groups:write'),
    id: 'createGroup',
    method: 'POST',
    path: '/v1/admin/groups',
    summary: 'Create a group',
    body: strictBody({ name, description, external_id }),
    example: { name: 'Engineering', description: 'Everyone who builds the product' },
    answer: { description: 'The group.', schema: Counted },
    refusals: ['invalid_state'],
    run: async (deps, { caller, body }) => ({ ...record(await createGroup(deps, caller, body)), member_count: 0 }),
    command: { name: 'groups create', text: describe },
  }),

  read: operation({
    ...one('groups:read'),
    id: 'readGroup',
    method: 'GET',
    path: '/v1/admin/groups/:group_id',
    summary: 'Read a group',
    run: async (deps, { group_id }) => counted(deps, await requireGroup(deps, group_id)),
    command: { name: 'groups show', text: describe },
  }),

  edit: operation({
    ...one('groups:write'),
    id: 'editGroup',
    method: 'PATCH',
    path: '/v1/admin/groups/:group_id',
    summary: 'Change the name and the description of a group',
    description: 'Apps read the new name from then on; one that compares names has to learn it.',
    body: strictBody({ name: Type.Optional(name), description, external_id }, { minProperties: 1 }),
    example: { name: 'Engineers' },
    refusals: ['not_found', 'invalid_state'],
    async run(deps, { caller, group_id, body }) {
      const edited = await editGroup(deps, caller, group_id, body);
      const member_count = await countMembersOf(deps, edited.after);
      return answerOf(edited, (group) => ({ ...record(group), member_count }));
    },
    command: { name: 'groups edit', text: describe },
  }),

  delete: operation({
    ...administration('groups:write'),
    parameters: anyGroup,
    id: 'deleteGroup',
    method: 'DELETE',
    path: '/v1/admin/groups/:group_id',
    summary: 'Delete a group',
    description:
      'Its members lose at once what it allowed them. A client that only its members may use is then closed to them.',
    answer: { description: 'The group is deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, group_id }) => deleteGroup(deps, caller, group_id),
    command: {
      name: 'groups delete',
      confirm: 'Its members lose at once what it allowed them.',
      summary: 'Delete a group. Its members lose at once what it allowed them.',
      json: (_, { group_id }) => ({ deleted: group_id }),
      text: (_, { group_id }) => `${group_id} has been deleted.`,
    },
  }),

  members: operation({
    ...administration('groups:read'),
    parameters: anyGroup,
    id: 'listGroupMembers',
    method: 'GET',
    path: '/v1/admin/groups/:group_id/members',
    summary: 'List the members of a group',
    query: paging,
    answer: {
      description: 'The last added first.',
      schema: Type.Object({
        members: Type.Array(
          Type.Object({
            user_id: Type.String(),
            email: Type.String(),
            name: nullable(Type.String()),
            disabled_at: nullable(Time),
            provider: nullable(
              Type.String({ description: 'The identity provider that has said so at a sign-in; null: added here.' }),
            ),
            added_at: Time,
          }),
        ),
        next: nullable(Type.String()),
      }),
    },
    refusals: ['not_found', 'invalid_request'],
    async run(deps, { group_id, query }) {
      const { members, next = null } = await pageOfMembers(deps, group_id, query);
      return { members, next };
    },
    command: {
      name: 'groups members',
      text: ({ members, next }) =>
        [
          list([
            ['ADDED', 'USER', 'EMAIL', 'NAME'],
            ...members.map((one) => [time(one.added_at), one.user_id, one.email, one.name ?? '']),
          ]),
          ...(next === null ? [] : [`More results: --after ${next}`]),
        ].join('\n\n'),
    },
  }),

  add: operation({
    ...member,
    id: 'addGroupMember',
    path: '/v1/admin/groups/:group_id/members',
    summary: 'Add a user to a group',
    answer: { description: 'The user is a member.', schema: Changed },
    run: async (deps, { caller, group_id, body }) => ({ changed: await addMember(deps, caller, group_id, body.user) }),
    command: {
      name: 'groups add',
      operands: { user: { value: 'user' } },
      text: ({ changed }) => (changed ? 'The user is a member now.' : 'The user was a member already.'),
    },
  }),

  remove: operation({
    ...member,
    id: 'removeGroupMember',
    path: '/v1/admin/groups/:group_id/remove-member',
    summary: 'Remove a user from a group',
    description: 'The user loses at once what only this group allowed.',
    answer: { description: 'The user is no member.', schema: Changed },
    run: async (deps, { caller, group_id, body }) => ({
      changed: await removeMember(deps, caller, group_id, body.user),
    }),
    command: {
      name: 'groups remove',
      operands: { user: { value: 'user' } },
      text: ({ changed }) => (changed ? 'The user is no member any more.' : 'The user was no member.'),
    },
  }),
};
