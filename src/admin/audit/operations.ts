import Type from 'typebox';
import { chainFaults } from '../../audit/chain.ts';
import { exportFormats } from '../../audit/read-log.ts';
import { nullable, type OperationDescription, Time } from '../../platform/http/operation-description.ts';
import { administrationAccess } from '../operation-parts.ts';

const AuditRecord = Type.Object({
  seq: Type.Integer({ minimum: 1, description: 'Its place in the chain.' }),
  event_id: Type.String(),
  at: Time,
  action: Type.String(),
  actor: Type.String(),
  target: nullable(Type.String()),
  reason: nullable(Type.String()),
  before: Type.Unknown(),
  after: Type.Unknown(),
  address: nullable(Type.String()),
  seal: Type.String(),
});

const filters = {
  action: { description: 'Such as client.approved, or its first word.' },
  actor: { description: 'Who did it: user:<id>, client:<id>, service:<id>, cli, system.' },
  target: { description: 'The id of what it happened to.' },
  since: { description: 'Unix seconds, or a day or time such as 2027-01-31T08:00:00Z.' },
  until: { description: 'The same; a day is included whole.' },
  before: { description: 'Only events with a lower `seq`.', schema: Type.Integer({ minimum: 1 }) },
};

export const list: OperationDescription = {
  ...administrationAccess,
  summary: 'The audit log',
  parameters: {
    ...filters,
    limit: { description: 'How many at most.', schema: Type.Integer({ minimum: 1, maximum: 500, default: 50 }) },
  },
  answers: {
    200: {
      description: 'Newest first. `next` is `before` of the next page.',
      schema: Type.Object({ events: Type.Array(AuditRecord), next: nullable(Type.Integer({ minimum: 1 })) }),
    },
  },
  refusals: ['invalid_request'],
};

const UnauthenticatedRecord = Type.Object({
  action: Type.String(),
  reason: nullable(Type.String({ description: '`more`: what had no row of its own any more in that hour.' })),
  target: nullable(Type.String({ description: 'Whose account it is about.' })),
  detail: Type.Unknown(),
  address: nullable(Type.String({ description: 'Where the first of them came from.' })),
  first_at: Time,
  last_at: Time,
  count: Type.Integer({ minimum: 1 }),
});

export const listUnauthenticated: OperationDescription = {
  ...administrationAccess,
  summary: 'What was tried without being signed in',
  description:
    'Refused sign-ins, and links to sign up or to reset a password that were asked for. What is alike within an hour is one entry that counts. They are kept for a time and are not part of the audit log.',
  parameters: {
    target: { description: 'The id of the person whose account it is about.' },
    address: { description: 'Where it came from, as it is listed.' },
    before: { description: '`next` of the page before.' },
    limit: { description: 'How many at most.', schema: Type.Integer({ minimum: 1, maximum: 500, default: 50 }) },
  },
  answers: {
    200: {
      description: 'Newest first. `next` is `before` of the next page.',
      schema: Type.Object({ events: Type.Array(UnauthenticatedRecord), next: nullable(Type.String()) }),
    },
  },
  refusals: ['invalid_request'],
};

export const exportAll: OperationDescription = {
  ...administrationAccess,
  summary: 'The audit log as a file',
  parameters: {
    format: { description: 'JSON lines without it.', schema: Type.Enum([...exportFormats]) },
    ...filters,
  },
  answers: { 200: { description: 'Newest first, as an attachment.', media: ['application/jsonl', 'text/csv'] } },
  refusals: ['invalid_request'],
};

export const verify: OperationDescription = {
  ...administrationAccess,
  summary: 'Prove that nothing in the audit log was changed or taken out',
  answers: {
    200: {
      description: '`broken` names the first place that is not as it was; null while all are.',
      schema: Type.Object({
        verified: Type.Integer({ minimum: 0 }),
        head: Type.Object({ seq: Type.Integer({ minimum: 0 }), seal: Type.String() }),
        unsealed: Type.Integer({ minimum: 0 }),
        unsealed_late: Type.Integer({
          minimum: 0,
          description: 'Events without a seal that claim to be from long ago.',
        }),
        stopped: Type.Boolean({
          description:
            'The end of the log is lost: no event is sealed and no webhook is sent until an operator acknowledges it.',
        }),
        broken: nullable(Type.Object({ seq: Type.Integer(), why: Type.Enum([...chainFaults]) })),
      }),
    },
  },
  refusals: ['invalid_request'],
};
