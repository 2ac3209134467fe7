import Type from 'typebox';
import { consentPolicies, reviewedRecord } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { findClients, listings } from '../../clients/find-clients.ts';
import { clientReview, listedRecords, reviewRecord } from '../../clients/read-review.ts';
import {
  approveClient,
  changePolicy,
  reinstateClient,
  rejectClient,
  suspendClient,
} from '../../clients/review-client.ts';
import { riskCodes } from '../../clients/risk-signals.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { ClientRecord } from '../../developer/api/operations.ts';
import { operation } from '../../platform/http/operation.ts';
import { nullable, Time } from '../../platform/http/operation-description.ts';
import { administration, limit, ReasonBody, reasonExample } from '../operation-parts.ts';
import { describeClient, describeList, describePolicy, describeReview } from './command-text.ts';

const ReviewedRecord = Type.Object({
  ...ClientRecord.properties,
  owner_user_id: nullable(
    Type.String({ description: 'Null for a first-party client, and once its owner is deleted.' }),
  ),
  consent: Type.Enum([...consentPolicies]),
  refresh_retry_window: Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' }),
});

const Changes = Type.Array(Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() }));

const Risk = Type.Object({
  code: Type.Enum([...riskCodes]),
  severity: Type.Enum(['notice', 'warning']),
  detail: Type.Array(Type.String(), {
    description: 'Hosts, scopes or names, chosen by whoever registered them: show them as text.',
  }),
});

const revision = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const policy = {
  consent: Type.Optional(
    Type.Enum([...consentPolicies], {
      description: '`required`: people are asked before the client learns about them.',
    }),
  ),
  refresh_retry_window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      description: 'Seconds in which a refresh whose answer was lost may be repeated.',
    }),
  ),
};

export const one = { ...administration, parameters: { client_id: 'Of any owner.' } };
export const changed = { description: 'The client after the change.', schema: ReviewedRecord };

export const listClients = operation({
  ...administration,
  id: 'listClients',
  method: 'GET',
  path: '/v1/admin/clients',
  summary: 'List clients in one state, or all that wait for review',
  query: {
    status: Type.Optional(
      Type.Enum([...listings], {
        description: 'Left out: `all` with a query, else `waiting`, which is new clients and changes.',
      }),
    ),
    query: Type.Optional(
      Type.String({
        description:
          "A part of the name, of the owner's name or e-mail address, a client_id, or the user_id of an owner.",
      }),
    ),
    limit,
    after: Type.Optional(Type.String({ description: '`next` of the page before.' })),
  },
  answer: {
    description: 'The longest registered first.',
    schema: Type.Object({
      clients: Type.Array(
        Type.Object({
          ...ReviewedRecord.properties,
          risks: Type.Optional(
            Type.Array(Risk, {
              description: 'Of those that wait for a review, and of the first 50 of them: what to look at twice.',
            }),
          ),
        }),
      ),
      next: nullable(Type.String()),
    }),
  },
  refusals: ['invalid_request'],
  async run(deps, { query: { status, ...search } }) {
    const { clients, next = null } = await findClients(deps, { listing: status, ...search });
    return { clients: await listedRecords(deps, clients), next };
  },
  command: {
    name: 'clients list',
    summary: 'List clients, oldest first; with --status waiting, what there is to review.',
    defaults: { status: 'all' },
    text: (listed, { query }) => describeList(listed, query),
  },
});

export const readClient = operation({
  ...one,
  id: 'readClient',
  method: 'GET',
  path: '/v1/admin/clients/:client_id',
  summary: 'Read a client with what its review needs',
  answer: {
    description: 'The client, who registered it, what would change, and what to look at twice.',
    schema: Type.Object({
      ...ReviewedRecord.properties,
      owner: nullable(Type.Object({ user_id: Type.String(), email: Type.String(), name: nullable(Type.String()) })),
      changes: Changes,
      last_rejection: nullable(
        Type.Object(
          { at: Time, reason: nullable(Type.String()), revision: Type.Integer(), changes: Changes },
          { description: 'The version before, if it was rejected and this one waits for review.' },
        ),
      ),
      risks: Type.Array(Risk, { description: 'What to look at twice, warnings first.' }),
    }),
  },
  refusals: ['not_found'],
  run: async (deps, { client_id }) => reviewRecord(await clientReview(deps, client_id)),
  command: {
    name: 'clients show',
    summary: 'Show one client as it is registered, what would change, and what a reviewer should look at twice.',
    text: describeReview,
  },
});

export const approveClientOperation = operation({
  ...one,
  id: 'approveClient',
  method: 'POST',
  path: '/v1/admin/clients/:client_id/approve',
  summary: 'Approve a client, or its pending change, at the revision that was read',
  description:
    'Administrators cannot approve their own client unless the service is configured so. Policy that is left out stays ' +
    'as it is; of a client that was never approved it is `skip` and 0 seconds.',
  body: Type.Object(
    {
      revision: revision('The one that was read.'),
      ...policy,
      allowed_scopes: Type.Optional(
        Type.Array(Type.Enum(scopeNames), { minItems: 1, uniqueItems: true, description: 'Some of those asked for.' }),
      ),
    },
    { additionalProperties: false },
  ),
  example: { revision: 1, consent: 'required' },
  answer: {
    description: 'The client after the change, with the policy in force: `consent` and `refresh_retry_window`.',
    schema: ReviewedRecord,
  },
  refusals: ['not_found', 'invalid_state', 'stale_revision', 'access_denied'],
  run: async (deps, { caller, client_id, body }) =>
    reviewedRecord(await approveClient(deps, { client_id, caller }, body)),
  command: {
    name: 'clients approve',
    options: { scope: 'allowed_scopes', 'retry-window': 'refresh_retry_window' },
    text: describePolicy,
  },
});

export const changeClientPolicy = operation({
  ...one,
  id: 'changeClientPolicy',
  method: 'PATCH',
  path: '/v1/admin/clients/:client_id/policy',
  summary: 'Change the policy of an approved client',
  description:
    'Members that are left out stay as they are. It takes effect with the next authorization or refresh. ' +
    'Administrators who may not approve the client may not change its policy.',
  body: Type.Object(policy, { additionalProperties: false, minProperties: 1 }),
  example: { consent: 'required' },
  answer: changed,
  refusals: ['not_found', 'invalid_state', 'access_denied', 'stale_revision'],
  run: async (deps, { caller, client_id, body }) =>
    reviewedRecord(await changePolicy(deps, { client_id, caller }, body)),
  command: {
    name: 'clients policy',
    options: { 'retry-window': 'refresh_retry_window' },
    text: describePolicy,
  },
});

export const rejectClientOperation = operation({
  ...one,
  id: 'rejectClient',
  method: 'POST',
  path: '/v1/admin/clients/:client_id/reject',
  summary: 'Reject a client, or its pending change',
  body: Type.Object(
    {
      ...ReasonBody.properties,
      revision: Type.Optional(revision('The one that was read; left out: whichever it is by now.')),
    },
    { additionalProperties: false },
  ),
  example: { ...reasonExample, revision: 1 },
  answer: changed,
  refusals: ['not_found', 'invalid_state', 'stale_revision'],
  run: async (deps, { caller, client_id, body: { reason, revision } }) =>
    reviewedRecord(await rejectClient(deps, { client_id, caller }, reason, revision)),
  command: {
    name: 'clients reject',
    summary: 'Reject a client or its pending change. Its owner may edit it, and then it waits for review again.',
    text: describeClient,
  },
});

export const suspendClientOperation = operation({
  ...one,
  id: 'suspendClient',
  method: 'POST',
  path: '/v1/admin/clients/:client_id/suspend',
  summary: 'Suspend a client at once, and revoke every grant to it',
  body: ReasonBody,
  example: reasonExample,
  answer: changed,
  refusals: ['not_found', 'invalid_state'],
  run: async (deps, { caller, client_id, body }) =>
    reviewedRecord(await suspendClient(deps, { client_id, caller }, body.reason)),
  command: { name: 'clients suspend', text: describeClient },
});

export const reinstateClientOperation = operation({
  ...one,
  id: 'reinstateClient',
  method: 'POST',
  path: '/v1/admin/clients/:client_id/reinstate',
  summary: 'Reinstate a suspended client',
  answer: changed,
  refusals: ['not_found', 'invalid_state'],
  run: async (deps, { caller, client_id }) => reviewedRecord(await reinstateClient(deps, { client_id, caller })),
  command: {
    name: 'clients reinstate',
    summary: 'Reinstate a suspended client: it may start sign-ins again. Tokens from before stay revoked.',
    text: describeClient,
  },
});

export const deleteClientOperation = operation({
  ...one,
  id: 'deleteClient',
  method: 'DELETE',
  path: '/v1/admin/clients/:client_id',
  summary: 'Delete a client and everything that was granted to it',
  answer: { description: 'Deleted.' },
  refusals: ['not_found'],
  run: (deps, { caller, client_id }) => deleteClient(deps, { client_id, caller }),
  command: {
    name: 'clients delete',
    summary: 'Delete a client with its secrets, grants and consents. It cannot be undone.',
    json: (_, { client_id }) => ({ deleted: client_id }),
    text: (_, { client_id }) => `${client_id} is deleted, and its tokens are revoked.`,
  },
});

export const clientOperations = [
  listClients,
  readClient,
  approveClientOperation,
  changeClientPolicy,
  rejectClientOperation,
  suspendClientOperation,
  reinstateClientOperation,
  deleteClientOperation,
];
