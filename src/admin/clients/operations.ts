import Type from 'typebox';
import { consentPolicies } from '../../clients/client.ts';
import { listings } from '../../clients/find-clients.ts';
import { EditBody } from '../../clients/registration.ts';
import { riskCodes } from '../../clients/risk-signals.ts';
import { scopeNames } from '../../clients/scopes.ts';
import { ClientRecord, SecretRecord } from '../../developer/api/operations.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { administrationAccess, Limit, ReasonBody, reasonExample } from '../operation-parts.ts';

const administered = {
  owner_user_id: nullable(
    Type.String({ description: 'Null for a first-party client, and once its owner is deleted.' }),
  ),
  consent: Type.Enum([...consentPolicies]),
  refresh_retry_window: Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' }),
};
const ReviewedRecord = Type.Object({ ...ClientRecord.properties, ...administered });

const Changes = Type.Array(Type.Object({ field: Type.String(), before: Type.Unknown(), after: Type.Unknown() }));

const Risks = Type.Array(
  Type.Object({
    code: Type.Enum([...riskCodes]),
    severity: Type.Enum(['notice', 'warning']),
    detail: Type.Array(Type.String(), {
      description: 'Hosts, scopes or names, chosen by whoever registered them: show them as text.',
    }),
  }),
  { description: 'What to look at twice, warnings first.' },
);
const ListedRecord = Type.Object({
  ...ReviewedRecord.properties,
  risks: Type.Optional({
    ...Risks,
    description: 'Of those that wait for a review, and of the first 50 of them: what to look at twice.',
  }),
});

export const ApprovalBody = Type.Object(
  {
    revision: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The one that was read.' }),
    consent: Type.Optional(Type.Enum([...consentPolicies])),
    refresh_retry_window: Type.Optional(Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' })),
    allowed_scopes: Type.Optional(
      Type.Array(Type.Enum(scopeNames), { minItems: 1, uniqueItems: true, description: 'Some of those asked for.' }),
    ),
  },
  { additionalProperties: false },
);

export const PolicyBody = Type.Object(
  {
    consent: Type.Optional(
      Type.Enum([...consentPolicies], {
        description: '`required`: people are asked before the client learns about them.',
      }),
    ),
    refresh_retry_window: Type.Optional(Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds.' })),
  },
  { additionalProperties: false, minProperties: 1 },
);

export const RejectionBody = Type.Object(
  {
    ...ReasonBody.properties,
    revision: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The one that was read; left out: whichever it is by now.',
      }),
    ),
  },
  { additionalProperties: false },
);

const one = { ...administrationAccess, parameters: { client_id: { description: 'Of any owner.' } } };
const changed = { 200: { description: 'The client as it is now.', schema: ReviewedRecord } };

export const list: OperationDescription = {
  ...administrationAccess,
  summary: 'Clients in one state, or all that wait for review',
  parameters: {
    status: {
      description: 'Left out: `all` with a query, else `waiting`, which is new clients and changes.',
      schema: Type.Enum([...listings]),
    },
    query: {
      description:
        "A part of the name, of the owner's name or e-mail address, a client_id, or the user_id of an owner.",
    },
    limit: Limit,
    after: { description: '`next` of the page before.' },
  },
  answers: {
    200: {
      description: 'The longest registered first.',
      schema: Type.Object({ clients: Type.Array(ListedRecord), next: nullable(Type.String()) }),
    },
  },
  refusals: ['invalid_request'],
};

export const read: OperationDescription = {
  ...one,
  summary: 'A client with what its review needs',
  answers: {
    200: {
      description: 'The client, who registered it, what would change, and what to look at twice.',
      schema: Type.Object({
        ...ReviewedRecord.properties,
        owner: nullable(Type.Object({ user_id: Type.String(), email: Type.String(), name: nullable(Type.String()) })),
        changes: Changes,
        last_rejection: nullable(
          Type.Object(
            { at: Time, reason: nullable(Type.String()), revision: Type.Integer(), changes: Changes },
            { description: 'The version before, if it was turned down and this one waits for review.' },
          ),
        ),
        risks: Risks,
      }),
    },
  },
  refusals: ['not_found'],
};

export const approve: OperationDescription = {
  ...one,
  summary: 'Approve a client, or the change that waits, at the revision that was read',
  description:
    'Nobody approves their own client unless the service is configured so. Policy that is left out stays as it is; ' +
    'of a client that was never approved it is `skip` and 0 seconds.',
  body: { schema: ApprovalBody, example: { revision: 1, consent: 'required' } },
  answers: {
    200: {
      description: 'The client as it is now, with the policy in force: `consent` and `refresh_retry_window`.',
      schema: ReviewedRecord,
    },
  },
  refusals: ['not_found', 'invalid_state', 'stale_revision', 'access_denied'],
};

export const reject: OperationDescription = {
  ...one,
  summary: 'Turn a client, or the change that waits, down',
  body: { schema: RejectionBody, example: { ...reasonExample, revision: 1 } },
  answers: changed,
  refusals: ['not_found', 'invalid_state', 'stale_revision'],
};

export const changePolicy: OperationDescription = {
  ...one,
  summary: 'Change the policy of a client that has been approved',
  description:
    'Members that are left out stay as they are. It takes effect with the next authorization or refresh. ' +
    'Whoever may not approve the client may not change its policy.',
  body: { schema: PolicyBody, example: { consent: 'required' } },
  answers: changed,
  refusals: ['not_found', 'invalid_state', 'invalid_request', 'access_denied', 'stale_revision'],
};

export const suspend: OperationDescription = {
  ...one,
  summary: 'Stop a client at once, with every grant that people gave to it',
  body: { schema: ReasonBody, example: reasonExample },
  answers: changed,
  refusals: ['not_found', 'invalid_state'],
};

export const reinstate: OperationDescription = {
  ...one,
  summary: 'Let a suspended client start sign-ins again',
  answers: changed,
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const remove: OperationDescription = {
  ...one,
  summary: 'Delete a client and everything that was granted to it',
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['not_found'],
};

const onlyOwnerless = 'Only of a client without an owner.';

export const edit: OperationDescription = {
  ...one,
  summary: 'Change a client without an owner',
  description: 'As with the clients that people own, the change waits for its approval.',
  body: { schema: EditBody, example: { revision: 1, name: 'Example shop' } },
  answers: changed,
  refusals: ['not_found', 'stale_revision', 'access_denied'],
};

export const listSecrets: OperationDescription = {
  ...one,
  summary: 'The secrets that work of a client without an owner',
  answers: {
    200: {
      description: 'When they were made and when they end. What they are is not kept.',
      schema: Type.Object({ secrets: Type.Array(SecretRecord) }),
    },
  },
  refusals: ['not_found', 'access_denied'],
};

export const addSecret: OperationDescription = {
  ...one,
  summary: 'Give a confidential client without an owner one more secret',
  description: `${onlyOwnerless} The one before works until it is retired; two can work at a time.`,
  answers: {
    200: {
      description: '`client_secret` is shown this once.',
      schema: Type.Object({ ...SecretRecord.properties, client_secret: Type.String() }),
    },
  },
  refusals: ['not_found', 'invalid_state', 'invalid_request', 'access_denied'],
};

export const retireSecret: OperationDescription = {
  ...one,
  summary: 'Retire a secret of a client without an owner',
  description: `${onlyOwnerless} The last one that does not end stays.`,
  parameters: {
    ...one.parameters,
    secret_id: { description: 'From the list.' },
    overlap_seconds: {
      description: 'How long it still works; left out: not at all.',
      schema: Type.Integer({ minimum: 0, maximum: 604_800 }),
    },
  },
  answers: { 200: { description: 'The secret as it is now.', schema: SecretRecord } },
  refusals: ['not_found', 'invalid_state', 'invalid_request', 'access_denied'],
};
