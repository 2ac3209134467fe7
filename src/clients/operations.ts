import Type from 'typebox';
import { algorithms } from '../keys/signing-key.ts';
import { nullable, type Operation, Time } from '../openapi/operation.ts';
import { clientStatuses, clientTypes } from './client.ts';
import { EditBody, RegistrationBody } from './registration.ts';

const ClientRecord = Type.Object({
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
  pending_change: nullable(Type.Object({}, { description: 'Edits of an approved client that wait for their review.' })),
  created_at: Time,
  updated_at: Time,
});

const shared = { tag: 'Clients', authentication: ['session'] } as const;
const one = { ...shared, parameters: { client_id: { description: 'As it was given at registration.' } } };

export const listClients: Operation = {
  ...shared,
  summary: 'Your clients',
  answers: {
    200: { description: 'Never with a secret.', schema: Type.Object({ clients: Type.Array(ClientRecord) }) },
  },
};

export const register: Operation = {
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
  refusals: ['rate_limited', 'invalid_state'],
};

export const readClient: Operation = {
  ...one,
  summary: 'One of your clients',
  answers: { 200: { description: 'The client.', schema: ClientRecord } },
  refusals: ['not_found'],
};

export const edit: Operation = {
  ...one,
  summary: 'Change a client',
  description: 'Changes of an approved client wait in `pending_change`; the reviewed revision serves until then.',
  body: { schema: EditBody, example: { revision: 1, name: 'Example shop' } },
  answers: { 200: { description: 'The client as it is now.', schema: ClientRecord } },
  refusals: ['not_found', 'stale_revision', 'invalid_state', 'rate_limited'],
};

export const remove: Operation = {
  ...one,
  summary: 'Delete a client and everything that was granted to it',
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['not_found'],
};
