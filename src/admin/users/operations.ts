import Type, { type TSchema } from 'typebox';
import { ended, SessionRecord } from '../../authentication/sessions/operations.ts';
import { entitlementStatuses } from '../../entitlements/entitlement.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { administrationAccess, Limit, ReasonBody, reasonExample } from '../operation-parts.ts';

const roles = ['user', 'admin'] as const;

const UserRecord = Type.Object({
  user_id: Type.String(),
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(Type.String()),
  role: Type.Enum([...roles]),
  status: Type.Enum(['enabled', 'disabled']),
  created_at: Time,
});

const Count = Type.Integer({ minimum: 0 });
const UserOverview = Type.Object({
  ...UserRecord.properties,
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
    disabled: Type.Boolean({ description: 'Until it is unlocked or reset.' }),
  }),
  counts: Type.Object({ sessions: Count, grants: Count, clients: Count, entitlements: Count }),
});

const GrantRecord = Type.Object({
  grant_id: Type.String(),
  client_id: Type.String(),
  client_name: Type.String(),
  session_id: Type.String({ description: 'Of the sign-in that it came from.' }),
  scope: Type.Array(Type.String()),
  created_at: Time,
  last_used_at: nullable(Time),
  expires_at: Time,
});

const written = {
  product: Type.String(),
  plan: Type.String(),
  status: Type.Enum([...entitlementStatuses]),
  source: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  current_period_end: nullable(Time),
  external_customer_id: nullable(Type.String()),
  external_subscription_id: nullable(Type.String()),
  metadata: nullable(Type.Record(Type.String(), Type.Unknown())),
};
const StoredEntitlement = Type.Object({ ...written, updated_at: Time });
const EntitlementVersion = Type.Object({
  ...written,
  event_id: nullable(Type.String()),
  credential_id: Type.String({ description: 'The service credential that wrote it.' }),
  written_at: Time,
});

export const RoleBody = Type.Object({ role: Type.Enum([...roles]) }, { additionalProperties: false });

const one = { ...administrationAccess, parameters: { user_id: { description: 'Of any person.' } } };
const changed = { 200: { description: 'The person as they are now.', schema: UserRecord } };
const listOf = (name: string, schema: TSchema, description: string) => ({
  200: { description, schema: Type.Object({ [name]: Type.Array(schema) }) },
});

export const list: OperationDescription = {
  ...administrationAccess,
  summary: 'Find people',
  parameters: {
    query: { description: 'The beginning of an e-mail address, a part of a name, or a user_id.' },
    limit: Limit,
    after: { description: '`next` of the page before.' },
  },
  answers: {
    200: {
      description: 'Newest first.',
      schema: Type.Object({ users: Type.Array(UserRecord), next: nullable(Type.String()) }),
    },
  },
  refusals: ['invalid_request'],
};

export const read: OperationDescription = {
  ...one,
  summary: 'A person, how they sign in, and what they have',
  answers: { 200: { description: 'Never with a secret.', schema: UserOverview } },
  refusals: ['not_found'],
};

export const disable: OperationDescription = {
  ...one,
  summary: 'Bar a person at once: sessions and grants end',
  description: 'Not the last administrator who may sign in.',
  body: { schema: ReasonBody, example: reasonExample },
  answers: changed,
  refusals: ['not_found', 'invalid_state'],
};

export const enable: OperationDescription = {
  ...one,
  summary: 'Let a disabled person sign in again',
  answers: changed,
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const signOut: OperationDescription = {
  ...one,
  summary: 'End all sessions and grants of a person',
  answers: changed,
  refusals: ['not_found', 'invalid_request'],
};

export const resetFactors: OperationDescription = {
  ...one,
  summary: "Remove a person's authenticator app, backup codes and passkeys",
  description: 'Ends their sessions and grants, and tells them by mail. Nobody resets their own.',
  body: { schema: ReasonBody, example: reasonExample },
  answers: changed,
  refusals: ['not_found'],
};

export const changeRole: OperationDescription = {
  ...one,
  summary: 'Make a person an administrator, or no longer one',
  description: 'Nobody changes their own role, and one administrator who may sign in stays.',
  body: { schema: RoleBody, example: { role: 'admin' } },
  answers: changed,
  refusals: ['not_found', 'invalid_state'],
};

export const unlock: OperationDescription = {
  ...one,
  summary: 'Forget the wrong passwords of a person',
  answers: changed,
  refusals: ['not_found', 'invalid_request'],
};

export const listSessions: OperationDescription = {
  ...one,
  summary: 'Live sessions of a person',
  answers: listOf('sessions', SessionRecord, 'Last used first.'),
  refusals: ['not_found'],
};

export const endSession: OperationDescription = {
  ...administrationAccess,
  summary: 'End a session of a person, with every grant that came from it',
  parameters: { user_id: { description: 'Whose it is.' }, session_id: { description: 'As in the list.' } },
  ...ended,
};

export const listGrants: OperationDescription = {
  ...one,
  summary: 'Live grants of a person',
  parameters: { ...one.parameters, limit: Limit },
  answers: listOf('grants', GrantRecord, 'Newest first.'),
  refusals: ['not_found', 'invalid_request'],
};

export const endGrant: OperationDescription = {
  ...administrationAccess,
  summary: 'End a grant with all its tokens',
  parameters: { grant_id: { description: 'As in the list.' } },
  ...ended,
};

export const listEntitlements: OperationDescription = {
  ...one,
  summary: 'What a person is entitled to, and the writes that made it so',
  description:
    'All that counts now is in every answer; the writes come a page at a time. With what their ' +
    'source keeps for itself, which is null in old versions from before it was kept.',
  parameters: {
    ...one.parameters,
    product: { description: 'Writes of this one alone.' },
    limit: { ...Limit, description: 'How many writes at most.' },
    before: { description: '`next` of the page before.' },
  },
  answers: {
    200: {
      description: 'Entitlements by product, versions newest first.',
      schema: Type.Object({
        entitlements: Type.Array(StoredEntitlement),
        versions: Type.Array(EntitlementVersion),
        next: nullable(Type.String()),
      }),
    },
  },
  refusals: ['not_found', 'invalid_request'],
};
