import { consentPolicies, reviewedRecord } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { findClients, listings } from '../../clients/find-clients.ts';
import { addSecret, listSecrets, retireSecret } from '../../clients/manage-secrets.ts';
import { clientReview, listedRecords, reviewRecord } from '../../clients/read-review.ts';
import { EditBody, readClientEdit } from '../../clients/registration.ts';
import {
  approveClient,
  changePolicy,
  reinstateClient,
  rejectClient,
  suspendClient,
} from '../../clients/review-client.ts';
import { riskCodes } from '../../clients/risk-signals.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { ClientRecord, OverlapSeconds, SecretRecord } from '../../developer/api/operations.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { shownOnce, table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, anyClient, ReasonForOwnerBody, reasonExample, strictBody } from '../operation-parts.ts';
import { describeClient, describeList, describeReview } from './command-text.ts';
import { logoutOperations } from './logout-operations.ts';

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
    description: 'Hosts, scopes or names chosen by the owners of clients: display them as plain text.',
  }),
});

const revision = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const policy = {
  consent: Type.Optional(
    Type.Enum([...consentPolicies], {
      description: 'Whether users must consent before the client receives their data.',
    }),
  ),
  refresh_retry_window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      description: 'Seconds within which a refresh whose response was lost may be repeated.',
    }),
  ),
};

const one = { ...administration, parameters: anyClient };
const changed = { description: 'The client after the change.', schema: ReviewedRecord };
const change = { ...one, method: 'POST', answer: changed, refusals: ['not_found', 'invalid_state'] } as const;

const onlyOwnerless = 'For clients without an owner only.';
const ownerless = <Target extends { client_id: string }>(target: Target) => ({ ...target, owner_user_id: null });

export const clientOperations = {
  list: operation({
    ...administration,
    id: 'listClients',
    method: 'GET',
    path: '/v1/admin/clients',
    summary: 'List clients by status, or all that are pending review',
    description: 'Without a status: `all` if there is a query, otherwise `waiting`.',
    query: {
      status: Type.Optional(
        Type.Enum([...listings], { description: '`waiting`: new clients and changes that are pending review.' }),
      ),
      query: Type.Optional(
        Type.String({
          description:
            "Part of the client's name or of its owner's name or email address, a client_id, or an owner's user_id.",
        }),
      ),
      ...paging,
    },
    answer: {
      description: 'Oldest first. A page of a search may have fewer clients than `limit` although `next` is not null.',
      schema: Type.Object({
        clients: Type.Array(
          Type.Object({
            ...ReviewedRecord.properties,
            risks: Type.Optional(
              Type.Array(Risk, { description: 'Risk signals of the first 50 clients that are pending review.' }),
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
      summary: 'List clients, oldest first; with --status waiting, those pending review.',
      defaults: { status: 'all' },
      text: (listed, { query }) => describeList(listed, query),
    },
  }),

  read: operation({
    ...one,
    id: 'readClient',
    method: 'GET',
    path: '/v1/admin/clients/:client_id',
    summary: 'Get a client with everything needed for its review',
    answer: {
      description: 'The client, its owner, the pending change and risk signals.',
      schema: Type.Object({
        ...ReviewedRecord.properties,
        owner: nullable(Type.Object({ user_id: Type.String(), email: Type.String(), name: nullable(Type.String()) })),
        changes: Changes,
        last_rejection: nullable(
          Type.Object(
            { at: Time, reason: nullable(Type.String()), revision: Type.Integer(), changes: Changes },
            { description: 'The previous revision, if it was rejected and this one is pending review.' },
          ),
        ),
        risks: Type.Array(Risk, { description: 'Risk signals, warnings first.' }),
      }),
    },
    refusals: ['not_found'],
    run: async (deps, { client_id }) => reviewRecord(await clientReview(deps, client_id)),
    command: {
      name: 'clients show',
      summary: 'Show a client with its pending change and risk signals.',
      text: describeReview,
    },
  }),

  approve: operation({
    ...change,
    id: 'approveClient',
    path: '/v1/admin/clients/:client_id/approve',
    summary: 'Approve a client, or its pending change, at a given revision',
    description:
      'Administrators cannot approve their own client unless the service is configured to allow it. Omitted policy members stay ' +
      'unchanged; for a client that was never approved they are `skip` and 0 seconds.',
    body: strictBody({
      revision: revision('The revision that was reviewed.'),
      ...policy,
      allowed_scopes: Type.Optional(
        // Not `uniqueItems`, which compares each with each before anyone has counted them; one that comes twice is harmless.
        Type.Array(Type.Enum(scopeNames), {
          minItems: 1,
          maxItems: scopeNames.length,
          description: 'The scopes to allow, if not all that are requested.',
        }),
      ),
    }),
    example: { revision: 1, consent: 'required' },
    answer: {
      description: 'The client after the change, with its current policy: `consent` and `refresh_retry_window`.',
      schema: ReviewedRecord,
    },
    refusals: ['not_found', 'invalid_state', 'stale_revision', 'access_denied'],
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await approveClient(deps, { client_id, caller }, body)),
    command: {
      name: 'clients approve',
      options: { scope: 'allowed_scopes', 'retry-window': 'refresh_retry_window' },
      text: describeClient,
    },
  }),

  changePolicy: operation({
    ...one,
    id: 'changeClientPolicy',
    method: 'PATCH',
    path: '/v1/admin/clients/:client_id/policy',
    summary: 'Change the policy of an approved client',
    description:
      'Omitted members stay unchanged. Takes effect with the next authorization or refresh. ' +
      'Administrators who cannot approve the client cannot change its policy.',
    body: strictBody(policy, { minProperties: 1 }),
    example: { consent: 'required' },
    answer: changed,
    refusals: ['not_found', 'invalid_state', 'access_denied', 'stale_revision'],
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await changePolicy(deps, { client_id, caller }, body)),
    command: {
      name: 'clients policy',
      summary: 'Change whether users of an approved client must consent, and its retry window.',
      options: { 'retry-window': 'refresh_retry_window' },
      text: describeClient,
    },
  }),

  reject: operation({
    ...change,
    id: 'rejectClient',
    path: '/v1/admin/clients/:client_id/reject',
    summary: 'Reject a client, or its pending change',
    body: strictBody({
      ...ReasonForOwnerBody.properties,
      revision: Type.Optional(revision('The revision that was reviewed, if not the current one.')),
    }),
    example: { ...reasonExample, revision: 1 },
    refusals: ['not_found', 'invalid_state', 'stale_revision'],
    run: async (deps, { caller, client_id, body: { reason, revision } }) =>
      reviewedRecord(await rejectClient(deps, { client_id, caller }, reason, revision)),
    command: {
      name: 'clients reject',
      summary: 'Reject a client or its pending change. Its owner can edit it and submit it for review again.',
      text: describeClient,
    },
  }),

  suspend: operation({
    ...change,
    id: 'suspendClient',
    path: '/v1/admin/clients/:client_id/suspend',
    summary: 'Suspend a client and revoke all its grants',
    body: ReasonForOwnerBody,
    example: reasonExample,
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await suspendClient(deps, { client_id, caller }, body.reason)),
    command: { name: 'clients suspend', text: describeClient },
  }),

  reinstate: operation({
    ...change,
    id: 'reinstateClient',
    path: '/v1/admin/clients/:client_id/reinstate',
    summary: 'Reinstate a suspended client',
    run: async (deps, { caller, client_id }) => reviewedRecord(await reinstateClient(deps, { client_id, caller })),
    command: {
      name: 'clients reinstate',
      summary: 'Reinstate a suspended client: users can sign in to it again. Its earlier tokens stay revoked.',
      text: describeClient,
    },
  }),

  delete: operation({
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
      summary: 'Delete a client with its secrets, grants and consents. This cannot be undone.',
      json: (_, { client_id }) => ({ deleted: client_id }),
      text: (_, { client_id }) => `${client_id} has been deleted, and its tokens have been revoked.`,
    },
  }),

  ...logoutOperations,

  edit: operation({
    ...one,
    id: 'editClient',
    method: 'PATCH',
    path: '/v1/admin/clients/:client_id',
    summary: 'Edit a client without an owner',
    description: 'As for clients with an owner, the change must be approved.',
    body: EditBody,
    parsesBody: true,
    example: { revision: 1, name: 'Example shop' },
    answer: changed,
    refusals: ['not_found', 'stale_revision', 'access_denied'],
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await editClient(deps, ownerless({ client_id, caller }), readClientEdit(body))),
  }),

  listSecrets: operation({
    ...one,
    id: 'listClientSecrets',
    method: 'GET',
    path: '/v1/admin/clients/:client_id/secrets',
    summary: 'List the active secrets of a client without an owner',
    answer: {
      description: 'When the secrets were created and when they end, without the secrets themselves.',
      schema: Type.Object({ secrets: Type.Array(SecretRecord) }),
    },
    refusals: ['not_found', 'access_denied'],
    run: async (deps, { client_id }) => ({ secrets: await listSecrets(deps, client_id, null) }),
    command: {
      name: 'clients secrets list',
      text: ({ secrets }) =>
        table([
          ['SECRET', 'CREATED', 'EXPIRES'],
          ...secrets.map((each) => [each.secret_id, time(each.created_at), time(each.expires_at)]),
        ]),
    },
  }),

  addSecret: operation({
    ...one,
    id: 'addClientSecret',
    method: 'POST',
    path: '/v1/admin/clients/:client_id/secrets',
    summary: 'Add a secret to a confidential client without an owner',
    description: `${onlyOwnerless} The previous secret works until it is retired; up to two can be active.`,
    answer: {
      description: '`client_secret` is returned only once.',
      schema: Type.Object({ ...SecretRecord.properties, client_secret: Type.String() }),
    },
    refusals: ['not_found', 'invalid_state', 'access_denied'],
    async run(deps, { caller, client_id }) {
      const { secret, client_secret } = await addSecret(deps, ownerless({ client_id, caller }));
      return { ...secret, client_secret };
    },
    command: {
      name: 'clients secrets add',
      summary:
        'Add a secret to a client without an owner and print it; it cannot be shown again. The previous secret still works.',
      text: ({ secret_id, client_secret }) => shownOnce({ secret_id, client_secret }),
    },
  }),

  retireSecret: operation({
    ...one,
    id: 'retireClientSecret',
    method: 'DELETE',
    path: '/v1/admin/clients/:client_id/secrets/:secret_id',
    summary: 'Retire a secret of a client without an owner',
    description: `${onlyOwnerless} The last secret without an end date cannot be retired.`,
    parameters: { ...one.parameters, secret_id: 'From the list.' },
    query: { overlap_seconds: OverlapSeconds },
    answer: { description: 'The secret after the change.', schema: SecretRecord },
    refusals: ['not_found', 'invalid_state', 'invalid_request', 'access_denied'],
    run: (deps, { caller, client_id, secret_id, query: { overlap_seconds: overlapSeconds } }) =>
      retireSecret(deps, ownerless({ client_id, secret_id, caller, overlapSeconds })),
    command: {
      name: 'clients secrets retire',
      options: { overlap: 'overlap_seconds' },
      text: ({ secret_id, expires_at }) => `${secret_id} works until ${time(expires_at)}.`,
    },
  }),
};
