import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { roles } from '../../accounts/roles.ts';
import { hasAdministrator, perStandardClaim, userFilters, userOrders } from '../../accounts/statements.ts';
import { requireUser, requireUserByIdOrEmail } from '../../accounts/users.ts';
import { AttributeValues } from '../../attributes/schema.ts';
import type { LockState } from '../../authentication/passwords/password-limits.ts';
import type { Deps } from '../../oauth/deps.ts';
import { answerOf } from '../../platform/edited.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { Refusal } from '../mails/operations.ts';
import {
  administration,
  OptionalReasonBody,
  optionalReason,
  ReasonBody,
  reasonExample,
  strictBody,
} from '../operation-parts.ts';
import { changeRole, disableUser, enableUser, resetFactors, signOutUser, unlockUser } from './administer-user.ts';
import { describeUsers } from './list-text.ts';
import { listedRecord, maxCounted, overviewRecord, readUsers, userOverview, userRecord } from './read-user.ts';

const rolesInWords = {
  support: 'Support',
  reviewer: 'A reviewer',
  auditor: 'An auditor',
  admin: 'An administrator',
} as const;

export const UserRecord = Type.Object({
  user_id: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(Type.String()),
  preferred_username: nullable(Type.String()),
  role: Type.Enum([...roles]),
  status: Type.Enum(['enabled', 'disabled']),
  last_sign_in_at: nullable(Time),
  created_at: Time,
});
type UserRecord = ReturnType<typeof userRecord>;

const Count = Type.Integer({ minimum: 0 });
const ListedUser = Type.Object({
  ...UserRecord.properties,
  locked: Type.Boolean({
    description:
      'Whether the password is locked: for too many wrong ones, none is accepted at present from a browser that is new to the account. Known browsers are not affected.',
  }),
  factors: Type.Object({
    password: Type.Boolean(),
    totp: Type.Enum(['none', 'active']),
    passkeys: Count,
    providers: Type.Array(Type.String()),
  }),
});

const UserOverview = Type.Object({
  ...UserRecord.properties,
  profile: Type.Object(
    perStandardClaim(() => nullable(Type.String())),
    { description: 'What the user has entered; null where nothing was.' },
  ),
  attributes: AttributeValues,
  factors: Type.Object({
    password: Type.Boolean(),
    totp: Type.Enum(['none', 'active']),
    backup_codes: Type.Object({ total: Count, remaining: Count }),
    passkeys: Count,
    identities: Type.Array(Type.Object({ provider: Type.String(), email: nullable(Type.String()), linked_at: Time })),
  }),
  lock: Type.Object({
    failures: Count,
    blocked_until: nullable(Time),
    disabled: Type.Boolean({ description: 'Whether the password is disabled until it is unlocked or reset.' }),
  }),
  counts: Type.Object({
    sessions: Count,
    grants: Type.Integer({ minimum: 0, maximum: maxCounted, description: `${maxCounted}: as many or more.` }),
    clients: Count,
    entitlements: Count,
  }),
  mail_refusal: Type.Union([Refusal, Type.Null()], {
    description: 'That mail to the address was refused for good, and none was accepted since; null if not.',
  }),
});

export const userOperand = {
  user_id: {
    value: 'user_id|email',
    resolve: async (deps: Pick<Deps, 'db' | 'placement' | 'claims'>, typed: string) =>
      (await requireUserByIdOrEmail(deps, typed)).user_id,
  },
};

const one = (permission: AdministrativePermission) => ({
  ...administration(permission),
  parameters: { user_id: 'user_id of any user.' },
});
const change = (permission: AdministrativePermission) =>
  ({
    ...one(permission),
    method: 'POST',
    answer: { description: 'The user after the change.', schema: UserRecord },
    refusals: ['not_found'],
  }) as const;

async function recordAfter(done: Promise<void>, deps: Pick<Deps, 'db'>, user_id: string) {
  await done;
  return userRecord(await requireUser(deps, user_id));
}

const rowsOf = (user: UserRecord) => [
  ['User', user.user_id],
  ['Email', `${user.email}${user.email_verified ? '' : ' (not verified)'}`],
  ['Name', user.name],
  ['Username', user.preferred_username],
  ['Role', user.role],
  ['Status', user.status],
  ['Created', time(user.created_at)],
  ['Last sign-in', time(user.last_sign_in_at)],
];

export const describeUser = (user: UserRecord) => table(rowsOf(user));

export const describeOverview = ({
  profile,
  attributes,
  factors,
  lock,
  counts,
  mail_refusal,
  ...user
}: ReturnType<typeof overviewRecord>) =>
  table([
    ...rowsOf(user),
    ...Object.entries(profile).flatMap(([claim, value]) =>
      value === null || claim === 'preferred_username' ? [] : [[claim, value]],
    ),
    ...Object.entries(attributes).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
    ...(mail_refusal ? [['Mail refused', `${time(mail_refusal.last_at)}: ${mail_refusal.answer}`]] : []),
    ['Password', factors.password ? lockText(lock) : '-'],
    ['Authenticator app', factors.totp],
    ['Backup codes', `${factors.backup_codes.remaining} of ${factors.backup_codes.total}`],
    ['Passkeys', factors.passkeys],
    ['Providers', factors.identities.map(({ provider }) => provider)],
    ...Object.entries(counts).map(([name, count]) => [
      name.charAt(0).toUpperCase() + name.slice(1),
      name === 'grants' && count >= maxCounted ? `${count} or more` : count,
    ]),
  ]);

function lockText({ failures, blocked_until, disabled }: LockState): string {
  if (disabled) return `disabled after ${failures} wrong attempts, until it is reset or unlocked`;
  if (blocked_until === null) return 'set';
  return `locked until ${time(blocked_until)}, for browsers that are new to the account or for a known one, after ${failures} wrong attempts`;
}

/** Commands may remove the last administrator, and then say so. */
export const administratorWarning = async (deps: Pick<Deps, 'db'>) =>
  (await hasAdministrator(deps.db)) ? '' : '\n\nThere is no administrator left. Create one with: signet admin invite';

export const userOperations = {
  list: operation({
    ...administration('users:read'),
    id: 'listUsers',
    method: 'GET',
    path: '/v1/admin/users',
    summary: 'Find users',
    query: {
      query: Type.Optional(
        Type.String({
          description: 'Beginnings of words of an email address, name or handle, in any order; or a user_id.',
        }),
      ),
      filter: Type.Optional(
        Type.Enum([...userFilters], {
          description:
            'Only these users: `no_second_factor`, without authenticator app and passkey; `stale`, without a sign-in for 90 days, longest ago first; `same_mailbox`, whose address is another user’s, spelled in another way.',
        }),
      ),
      order: Type.Optional(
        Type.Enum([...userOrders], {
          description:
            'Default: newest first. By the last sign-in, users who have never signed in are where they were created. No effect with `query` or `filter`.',
        }),
      ),
      ...paging,
    },
    answer: {
      description:
        'Newest first, unless `order` or `filter` says otherwise; with a query, in the order of what was found. A page may have fewer users than `limit` although `next` is not null.',
      schema: Type.Object({
        users: Type.Array(ListedUser),
        next: nullable(Type.String()),
        complete: Type.Boolean({
          description:
            'False while users are still being added to the search after an upgrade. Until then, some are found only by their full email address or user_id.',
        }),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { users, next = null, complete } = await readUsers(deps, query);
      return { users: users.map(listedRecord), next, complete };
    },
    command: {
      name: 'users list',
      summary:
        'List users, newest first. --query matches beginnings of words of email addresses, names and usernames; --filter selects users who may need attention.',
      text: describeUsers,
    },
  }),

  read: operation({
    ...one('users:read'),
    id: 'readUser',
    method: 'GET',
    path: '/v1/admin/users/:user_id',
    summary: 'Get a user with sign-in methods and access',
    answer: { description: 'The user, without secrets.', schema: UserOverview },
    refusals: ['not_found'],
    run: async (deps, { user_id }) => overviewRecord(await userOverview(deps, user_id)),
  }),

  changeRole: operation({
    ...change('administrators:write'),
    id: 'changeUserRole',
    method: 'PUT',
    path: '/v1/admin/users/:user_id/role',
    summary: 'Change the role of a user',
    description: 'Administrators cannot change their own role, and the last active administrator cannot be demoted.',
    body: strictBody({ role: Type.Enum([...roles]), ...optionalReason }),
    example: { role: 'admin' },
    refusals: ['not_found', 'invalid_state'],
    run: async (deps, { caller, user_id, body }) =>
      answerOf(await changeRole(deps, caller, user_id, body.role, body.reason), userRecord),
    command: {
      name: 'users role',
      summary: 'Change the role of a user.',
      operands: { ...userOperand, role: { oneOf: roles } },
      text: async (user, _, deps) =>
        `${user.role === 'user' ? 'Not an administrator' : rolesInWords[user.role]} from the next request on.\n\n${describeUser(user)}${await administratorWarning(deps)}`,
    },
  }),

  signOut: operation({
    ...change('users:write'),
    id: 'signOutUser',
    path: '/v1/admin/users/:user_id/sign-out',
    summary: 'End all sessions of a user, and revoke all grants',
    description:
      'The user receives an email, with the reason if there is one. For a user who is signed in nowhere, nothing is changed, logged or mailed.',
    body: OptionalReasonBody,
    bodyIsOptional: true,
    example: reasonExample,
    run: async (deps, { caller, user_id, body }) =>
      answerOf(await signOutUser(deps, caller, user_id, body.reason), userRecord),
    command: {
      name: 'users sign-out',
      confirm: 'This ends all sessions of the user and revokes all grants. It cannot be undone.',
      summary: 'Sign a user out everywhere. Ends all sessions and revokes all grants.',
      operands: userOperand,
      text: (user) => `Signed out everywhere.\n\n${describeUser(user)}`,
    },
  }),

  unlock: operation({
    ...change('users:write'),
    id: 'unlockUser',
    path: '/v1/admin/users/:user_id/unlock',
    summary: 'Reset the failed password attempts of a user',
    description: 'For a user without any, nothing is changed or logged.',
    run: async (deps, { caller, user_id }) => answerOf(await unlockUser(deps, caller, user_id), userRecord),
    command: {
      name: 'users unlock',
      summary:
        'Clear the failed password attempts of a user. A password that too many of them have disabled works again.',
      operands: userOperand,
      text: (user) => `Failed attempts have been reset.\n\n${describeUser(user)}`,
    },
  }),

  resetFactors: operation({
    ...change('users:recover'),
    id: 'resetUserFactors',
    path: '/v1/admin/users/:user_id/reset-factors',
    summary: "Remove a user's authenticator app, backup codes and passkeys",
    description:
      'Ends their sessions and grants and notifies them by email. For a user who has none of these, nothing is changed, logged or mailed. Administrators cannot reset their own factors.',
    body: ReasonBody,
    example: reasonExample,
    run: async (deps, { caller, user_id, body }) =>
      answerOf(await resetFactors(deps, caller, user_id, body.reason), userRecord),
    command: {
      name: 'users reset-factors',
      confirm: "This removes the user's authenticator app, backup codes and passkeys. It cannot be undone.",
      summary:
        'Remove the second factors of a user. Removes the authenticator app, backup codes and passkeys, ends all sessions, and notifies the user by email.',
      operands: userOperand,
      json: async (_, { user_id }, deps) => overviewRecord(await userOverview(deps, user_id)),
      text: async (_, { user_id }, deps) =>
        `Factors removed, and signed out everywhere.\n\n${describeOverview(overviewRecord(await userOverview(deps, user_id)))}`,
    },
  }),

  disable: operation({
    ...change('users:write'),
    id: 'disableUser',
    path: '/v1/admin/users/:user_id/disable',
    summary: 'Disable a user and end their sessions and grants',
    description: 'The last active administrator cannot be disabled.',
    body: ReasonBody,
    example: reasonExample,
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { caller, user_id, body }) =>
      recordAfter(disableUser(deps, caller, user_id, body.reason), deps, user_id),
    command: {
      name: 'users disable',
      confirm:
        'This ends all sessions of the user and revokes all grants. Enabling the user later does not restore them.',
      summary: 'Disable a user. Ends all sessions, revokes all grants and refuses sign-ins.',
      operands: userOperand,
      optional: ['reason'],
      text: async (user, _, deps) =>
        `Disabled, and signed out everywhere.\n\n${describeUser(user)}${await administratorWarning(deps)}`,
    },
  }),

  enable: operation({
    ...change('users:write'),
    id: 'enableUser',
    path: '/v1/admin/users/:user_id/enable',
    summary: 'Enable a disabled user',
    refusals: ['not_found', 'invalid_state'],
    run: (deps, { caller, user_id }) => recordAfter(enableUser(deps, caller, user_id), deps, user_id),
    command: {
      name: 'users enable',
      summary: 'Enable a disabled user. Ended sessions and revoked grants are not restored.',
      operands: userOperand,
      text: (user) => `Enabled.\n\n${describeUser(user)}`,
    },
  }),
};
