import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { longestScope, scopePattern } from '../../apis/api-rules.ts';
import { secondFactors, signingAlgorithms } from '../../clients/choices.ts';
import { reviewedRecord } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { exportClients } from '../../clients/export-clients.ts';
import { fetchLogo } from '../../clients/fetch-logos.ts';
import { findClients, listings, orders } from '../../clients/find-clients.ts';
import { logoProperty, policyProperties } from '../../clients/policy.ts';
import { clientReview, listedRecords, reviewRecord } from '../../clients/read-review.ts';
import {
  approveClient,
  changePolicy,
  reinstateClient,
  rejectClient,
  suspendClient,
} from '../../clients/review-client.ts';
import { riskCodes } from '../../clients/risk-signals.ts';
import { readUsage } from '../../oauth/grants/grants.ts';
import { now } from '../../platform/clock.ts';
import { csvName, csvType } from '../../platform/csv.ts';
import { answerOf } from '../../platform/edited.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { Type } from '../../platform/schema.ts';
import { administration, ReasonForOwnerBody, reasonExample, strictBody } from '../operation-parts.ts';
import { describeClient, describeList, describeLogo, describeReview } from './command-text.ts';
import { hostOperations } from './host-operations.ts';
import { logoutOperations } from './logout-operations.ts';
import { changed, LogoRecord, one, ReviewedRecord } from './operation-parts.ts';
import { ownerlessOperations } from './ownerless-operations.ts';

const Changes = Type.Array(Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() }));

const Risk = Type.Object({
  code: Type.Enum([...riskCodes]),
  severity: Type.Enum(['notice', 'warning']),
  detail: Type.Array(Type.String(), {
    description: 'Hosts, scopes or names chosen by the owners of clients: display them as plain text.',
  }),
  more: Type.Optional(Type.Integer({ minimum: 1, description: 'How many further names it is about.' })),
});

const revision = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const change = (permission: AdministrativePermission) =>
  ({ ...one(permission), method: 'POST', answer: changed, refusals: ['not_found', 'invalid_state'] }) as const;

export const clientOperations = {
  list: operation({
    ...administration('clients:read'),
    id: 'listClients',
    method: 'GET',
    path: '/v1/admin/clients',
    summary: 'List clients by status, or all that are pending review',
    description: 'Without a status: `all` if there is a query, otherwise `waiting`.',
    query: {
      status: Type.Optional(
        Type.Enum([...listings], {
          description:
            '`waiting`: new clients and changes that are pending review. `outside`: new ones that came by themselves, and whose review no user has asked for. `unseen_logo`: approved ones whose logo no reviewer has looked at.',
        }),
      ),
      query: Type.Optional(
        Type.String({
          description:
            "Beginnings of words of the client's name, or of its owner's name or email address, in any order; a client_id, or an owner's user_id.",
        }),
      ),
      order: Type.Optional(
        Type.Enum([...orders], { description: 'Of a list without a query. Default: `oldest` first.' }),
      ),
      ...paging,
    },
    answer: {
      description:
        'In the order of registration; with a query, in the order of what was found. A page of a search may have fewer clients than `limit` although `next` is not null.',
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
        complete: Type.Boolean({
          description:
            'False while clients are still being added to the search after an upgrade. Until then, some are found only by their client_id or owner.',
        }),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query: { status, ...search } }) {
      const { clients, next = null, complete } = await findClients(deps, { listing: status, ...search });
      return { clients: await listedRecords(deps, clients), next, complete };
    },
    command: {
      name: 'clients list',
      summary: 'List clients, oldest first. With --status waiting, lists those pending review.',
      defaults: { status: 'all' },
      text: (listed, { query }) => describeList(listed, query),
    },
  }),

  export: operation({
    ...administration('clients:read'),
    id: 'exportClients',
    method: 'GET',
    path: '/v1/admin/clients/export',
    summary: 'Export clients as a CSV file',
    query: { status: Type.Optional(Type.Enum([...listings], { description: 'Default: `all`.' })) },
    answer: { description: 'Oldest first, as an attachment.', media: ['text/csv'] },
    refusals: ['invalid_request'],
    run: async (deps, { query: { status = 'all' } }) => ({
      name: csvName([`clients-${status}`], now(deps)),
      type: csvType,
      content: exportClients(deps, status),
    }),
  }),

  read: operation({
    ...one('clients:read'),
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
        logo: Type.Union([LogoRecord, Type.Null()], {
          description: 'What was fetched from its `logo_url`; null without one.',
        }),
        usage: Type.Object({
          users: Type.Integer({ minimum: 0, description: 'Users with an active grant.' }),
          users_is_minimum: Type.Boolean({ description: 'Whether there may be more than were counted.' }),
          last_sign_in_at: nullable(Time),
        }),
      }),
    },
    refusals: ['not_found'],
    async run(deps, { client_id }) {
      const [review, usage] = await Promise.all([clientReview(deps, client_id), readUsage(deps, client_id)]);
      return { ...reviewRecord(review), usage };
    },
    command: {
      name: 'clients show',
      summary: 'Show a client, its pending change and its risk signals.',
      text: describeReview,
    },
  }),

  approve: operation({
    ...change('clients:approve'),
    id: 'approveClient',
    path: '/v1/admin/clients/:client_id/approve',
    summary: 'Approve a client, or its pending change, at a given revision',
    description:
      'Administrators cannot approve their own client unless the service is configured to allow it. Omitted policy members stay ' +
      'unchanged; for a client that was never approved they are `skip` and 0 seconds.',
    body: strictBody({
      revision: revision('The revision that was reviewed.'),
      ...policyProperties,
      ...logoProperty,
      allowed_scopes: Type.Optional(
        // Not `uniqueItems`, which compares each with each before anyone has counted them; one that comes twice is harmless.
        Type.Array(Type.String({ minLength: 1, maxLength: longestScope, pattern: scopePattern }), {
          minItems: 1,
          maxItems: 50,
          description: 'The scopes to allow, if not all that are requested.',
        }),
      ),
      second_factor: Type.Optional(
        Type.Enum([...secondFactors], {
          description: 'Whether its users need a second factor, if not as requested; sets `default_acr_values`.',
        }),
      ),
    }),
    example: { revision: 1, consent: 'required' },
    answer: {
      description:
        'The client after the change, with its current policy: `consent`, `refresh_retry_window`, `profile` and groups.',
      schema: ReviewedRecord,
    },
    refusals: ['not_found', 'invalid_state', 'stale_revision', 'access_denied'],
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await approveClient(deps, { client_id, caller }, body)),
    command: {
      name: 'clients approve',
      summary: 'Approve a client or its pending change. --revision names the revision that you reviewed.',
      options: {
        scope: 'allowed_scopes',
        'retry-window': 'refresh_retry_window',
        'second-factor': 'second_factor',
        'allowed-group': 'allowed_groups',
        'visible-group': 'visible_groups',
        logo: 'logo_id',
      },
      text: describeClient,
    },
  }),

  fetchLogo: operation({
    ...one('clients:approve'),
    id: 'fetchClientLogo',
    method: 'POST',
    path: '/v1/admin/clients/:client_id/logo',
    summary: 'Fetch the logo of a client now',
    description:
      'It is fetched by itself when a client is registered, or wants another one. What users see stays as it is until what was fetched is approved.',
    answer: { description: 'What was fetched, or why nothing was.', schema: LogoRecord },
    refusals: ['not_found', 'invalid_state', 'rate_limited'],
    run: (deps, { client_id }) => fetchLogo(deps, client_id),
    command: {
      name: 'clients logo',
      summary: 'Fetch the logo of a client now, and say what came.',
      text: describeLogo,
    },
  }),

  changePolicy: operation({
    ...one('clients:approve'),
    id: 'changeClientPolicy',
    method: 'PATCH',
    path: '/v1/admin/clients/:client_id/policy',
    summary: 'Change the policy of an approved client',
    description:
      'Omitted members stay unchanged. Takes effect with the next authorization or refresh. ' +
      'Administrators who cannot approve the client cannot change its policy.',
    body: strictBody(
      {
        ...policyProperties,
        ...logoProperty,
        id_token_signed_response_alg: Type.Optional(
          Type.Enum([...signingAlgorithms], { description: 'How its tokens are signed from now on.' }),
        ),
      },
      { minProperties: 1 },
    ),
    example: { consent: 'required' },
    answer: changed,
    refusals: ['not_found', 'invalid_state', 'access_denied', 'stale_revision'],
    run: async (deps, { caller, client_id, body }) =>
      answerOf(await changePolicy(deps, { client_id, caller }, body), reviewedRecord),
    command: {
      name: 'clients policy',
      summary:
        'Change the policy of an approved client. That is whether users must consent, the retry window, how its tokens are signed, its security profile, who may use it and which groups it sees.',
      options: {
        'retry-window': 'refresh_retry_window',
        alg: 'id_token_signed_response_alg',
        'allowed-group': 'allowed_groups',
        'visible-group': 'visible_groups',
        logo: 'logo_id',
      },
      text: describeClient,
    },
  }),

  reject: operation({
    ...change('clients:approve'),
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
      summary: 'Reject a client or its pending change. Its owner can edit it and submit it again.',
      text: describeClient,
    },
  }),

  suspend: operation({
    ...change('clients:approve'),
    id: 'suspendClient',
    path: '/v1/admin/clients/:client_id/suspend',
    summary: 'Suspend a client and revoke all its grants',
    body: ReasonForOwnerBody,
    example: reasonExample,
    run: async (deps, { caller, client_id, body }) =>
      reviewedRecord(await suspendClient(deps, { client_id, caller }, body.reason)),
    command: {
      name: 'clients suspend',
      confirm: 'Users can no longer sign in to this client, and its tokens are revoked for good.',
      summary: 'Suspend a client. Revokes all its grants.',
      text: describeClient,
    },
  }),

  reinstate: operation({
    ...change('clients:approve'),
    id: 'reinstateClient',
    path: '/v1/admin/clients/:client_id/reinstate',
    summary: 'Restore a suspended client',
    run: async (deps, { caller, client_id }) => reviewedRecord(await reinstateClient(deps, { client_id, caller })),
    command: {
      name: 'clients reinstate',
      summary: 'Reinstate a suspended client. Users can sign in to it again; its earlier tokens stay revoked.',
      text: describeClient,
    },
  }),

  delete: operation({
    ...one('clients:write'),
    id: 'deleteClient',
    method: 'DELETE',
    path: '/v1/admin/clients/:client_id',
    summary: 'Delete a client and everything that was granted to it',
    answer: { description: 'Deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, client_id }) => deleteClient(deps, { client_id, caller }),
    command: {
      name: 'clients delete',
      confirm: 'This deletes the client and revokes its tokens. It cannot be undone.',
      summary: 'Delete a client permanently. Deletes its secrets, grants and consents, too.',
      json: (_, { client_id }) => ({ deleted: client_id }),
      text: (_, { client_id }) => `${client_id} has been deleted, and its tokens have been revoked.`,
    },
  }),

  ...logoutOperations,
  ...hostOperations,
  ...ownerlessOperations,
};
