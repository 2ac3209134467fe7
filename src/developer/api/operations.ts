import Type from 'typebox';
import { recentlySignedIn, signedIn } from '../../authentication/sessions/session.ts';
import { clientStatuses, clientTypes } from '../../clients/client.ts';
import { failureCodes, failureStages } from '../../clients/failures.ts';
import { CheckBody, EditBody, RegistrationBody } from '../../clients/registration.ts';
import { algorithms } from '../../clients/signing-algorithm.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { endings } from '../activity/activity.ts';

export const ClientRecord = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  client_type: Type.Enum([...clientTypes]),
  redirect_uris: Type.Array(Type.String()),
  allowed_scopes: Type.Array(Type.String()),
  logo_url: nullable(Type.String()),
  homepage_url: nullable(Type.String()),
  id_token_signed_response_alg: Type.Enum([...algorithms]),
  status: Type.Enum([...clientStatuses]),
  status_reason: nullable(Type.String({ description: "The reviewer's words." })),
  revision: Type.Integer({ minimum: 1 }),
  pending_change: nullable(
    Type.Object(
      {},
      { additionalProperties: true, description: 'Edits of an approved client that wait for their review.' },
    ),
  ),
  created_at: Time,
  updated_at: Time,
});

const shared = { tag: 'Clients', access: [signedIn] } as const;
const one = { ...shared, parameters: { client_id: { description: 'As it was given at registration.' } } };

export const listClients: OperationDescription = {
  ...shared,
  summary: 'Your clients',
  answers: {
    200: { description: 'Never with a secret.', schema: Type.Object({ clients: Type.Array(ClientRecord) }) },
  },
};

export const register: OperationDescription = {
  ...shared,
  summary: 'Register a client',
  description: 'It waits in `pending_review` until an administrator approves it.',
  body: {
    schema: RegistrationBody,
    example: {
      name: 'Example shop',
      client_type: 'confidential',
      redirect_uris: ['https://shop.example.com/callback'],
    },
  },
  answers: {
    200: {
      description: '`client_secret` is shown this once; null for a public client.',
      schema: Type.Object({ client_id: Type.String(), client_secret: nullable(Type.String()) }),
    },
  },
  refusals: ['rate_limited'],
};

export const readClient: OperationDescription = {
  ...one,
  summary: 'One of your clients',
  answers: { 200: { description: 'The client.', schema: ClientRecord } },
  refusals: ['not_found'],
};

export const edit: OperationDescription = {
  ...one,
  summary: 'Change a client',
  description: 'Changes of an approved client wait in `pending_change`; the reviewed revision serves until then.',
  body: { schema: EditBody, example: { revision: 1, name: 'Example shop' } },
  answers: { 200: { description: 'The client as it is now.', schema: ClientRecord } },
  refusals: ['not_found', 'stale_revision', 'invalid_state', 'rate_limited'],
};

export const check: OperationDescription = {
  ...shared,
  summary: 'What would stand against a registration',
  description: 'Changes nothing. Members that are left out are not missed.',
  parameters: { ui_locales: { description: 'Language of the messages; left out: English.' } },
  body: { schema: CheckBody, example: { redirect_uris: ['https://shop.example.com/callback'] } },
  answers: {
    200: {
      description: 'One entry for each problem; none: it could be registered so.',
      schema: Type.Object({ fields: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })) }),
    },
  },
};

export const SecretRecord = Type.Object({
  secret_id: Type.String(),
  created_at: Time,
  expires_at: nullable(Time),
});

export const listSecrets: OperationDescription = {
  ...one,
  summary: 'The secrets of a client that work',
  answers: {
    200: {
      description: 'When they were made and when they end. What they are is not kept.',
      schema: Type.Object({ secrets: Type.Array(SecretRecord) }),
    },
  },
  refusals: ['not_found'],
};

export const addSecret: OperationDescription = {
  ...one,
  access: [recentlySignedIn],
  summary: 'Give a confidential client one more secret',
  description: 'Takes no body. The one before works until it is retired; two can work at a time.',
  answers: {
    200: {
      description: '`client_secret` is shown this once.',
      schema: Type.Object({
        secret_id: Type.String(),
        created_at: Time,
        expires_at: nullable(Time),
        client_secret: Type.String(),
      }),
    },
  },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const retireSecret: OperationDescription = {
  ...one,
  access: [recentlySignedIn],
  summary: 'Retire a secret of a client',
  description: 'The last one that does not end stays.',
  parameters: {
    client_id: one.parameters.client_id,
    secret_id: { description: 'From the list.' },
    overlap_seconds: {
      description: 'How long it still works; left out: not at all.',
      schema: Type.Integer({ minimum: 0, maximum: 604_800 }),
    },
  },
  answers: { 200: { description: 'The secret as it is now.', schema: SecretRecord } },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const activity: OperationDescription = {
  ...one,
  summary: 'Who signed in lately, and what failed and why',
  answers: {
    200: {
      description: 'Newest first. A person is the `sub` that the client knows.',
      schema: Type.Object({
        sign_ins: Type.Array(
          Type.Object({
            sub: Type.String(),
            scope: Type.String(),
            at: Time,
            last_used_at: Time,
            connected: Type.Boolean(),
            ended_because: nullable(Type.Enum([...endings])),
          }),
        ),
        failures: Type.Array(
          Type.Object({
            at: Time,
            last_at: Time,
            count: Type.Integer({ minimum: 1, description: 'Of one kind at most five a minute are counted.' }),
            stage: Type.Enum([...failureStages]),
            code: Type.Enum([...failureCodes]),
            sent: Type.Optional(Type.String()),
            registered: Type.Optional(Type.String()),
            description: Type.Optional(Type.String()),
          }),
        ),
      }),
    },
  },
  refusals: ['not_found'],
};

export const remove: OperationDescription = {
  ...one,
  access: [recentlySignedIn],
  summary: 'Delete a client and everything that was granted to it',
  description: 'A suspended client stays until an administrator deletes it.',
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['not_found', 'invalid_state'],
};
