import Type from 'typebox';
import { nullable, type Operation, Time } from '../../platform/openapi/operation.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import { deliveryStates } from '../../webhooks/list-webhooks.ts';
import { mostReplayed } from '../../webhooks/replay-dead.ts';
import { administration, Limit } from '../operation-parts.ts';

const record = {
  webhook_id: Type.String(),
  url: Type.String(),
  event_types: Type.Array(Type.Enum([...eventTypes])),
  created_at: Time,
  disabled_at: nullable(Time),
};
const Webhook = Type.Object(record);

/** The target is judged by the use-case, in words of its own. */
export const CreateBody = Type.Object(
  { url: Type.String({ format: 'uri' }), event_types: Type.Array(Type.Enum([...eventTypes]), { minItems: 1 }) },
  { additionalProperties: false },
);

const Delivery = Type.Object({
  delivery_id: Type.String(),
  event_id: Type.String(),
  event_type: Type.String(),
  state: Type.Enum([...deliveryStates]),
  attempts: Type.Integer({ minimum: 0 }),
  created_at: Time,
  next_attempt_at: nullable(Time),
  delivered_at: nullable(Time),
  dead_at: nullable(Time),
  last_error: nullable(Type.String()),
});

const one = { ...administration, parameters: { webhook_id: { description: 'As in the list.' } } };

export const list: Operation = {
  ...administration,
  summary: 'Who is told of events',
  answers: { 200: { description: 'Never with a secret.', schema: Type.Object({ webhooks: Type.Array(Webhook) }) } },
};

export const create: Operation = {
  ...administration,
  summary: 'Have somebody told of events (Standard Webhooks)',
  description:
    'A delivery is {type, timestamp, data}. data holds event_id, target, actor, reason, what changed as state, and, where ' +
    'tokens have ended, ended: those whose sub, client_id and sid are its user_id, client_id and session_id, each an id or ' +
    '"all", but none whose sid is except_session_id.',
  body: {
    schema: CreateBody,
    example: { url: 'https://hooks.example.com/signet', event_types: ['user.disabled', 'client.suspended'] },
  },
  answers: {
    200: {
      description: 'With the secret that signs, shown this once.',
      schema: Type.Object({ ...record, secret: Type.String({ description: '`whsec_...`' }) }),
    },
  },
};

export const remove: Operation = {
  ...one,
  summary: 'Take a webhook away with its deliveries',
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['not_found'],
};

const isOrNot = (state: string): Operation => ({
  ...one,
  summary: state === 'enabled' ? 'Tell a webhook again' : 'Tell a webhook nothing for a while',
  answers: { 200: { description: `It is ${state}.`, schema: Type.Object({ webhook_id: Type.String() }) } },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
});
export const enableOne = isOrNot('enabled');
export const disableOne = isOrNot('disabled');

export const testOne: Operation = {
  ...one,
  summary: 'Send a webhook.test to see whether it arrives',
  answers: { 200: { description: 'It is on its way.', schema: Type.Object({ webhook_id: Type.String() }) } },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

export const rotate: Operation = {
  ...one,
  summary: 'Sign with another secret from now on',
  answers: {
    200: {
      description: 'With the secret, shown this once.',
      schema: Type.Object({ webhook_id: Type.String(), secret: Type.String({ description: '`whsec_...`' }) }),
    },
  },
  refusals: ['not_found', 'invalid_request'],
};

export const deliveries: Operation = {
  ...one,
  summary: 'What was sent, what waits, and what was given up',
  parameters: {
    ...one.parameters,
    state: { description: 'Only these; all without it.', schema: Type.Enum([...deliveryStates]) },
    limit: Limit,
    after: { description: '`next` of the page before.' },
  },
  answers: {
    200: {
      description: 'Newest first.',
      schema: Type.Object({ deliveries: Type.Array(Delivery), next: nullable(Type.String()) }),
    },
  },
  refusals: ['not_found', 'invalid_request'],
};

export const replayOne: Operation = {
  ...administration,
  summary: 'Send a delivery that was given up once more',
  parameters: { webhook_id: { description: 'Whose it is.' }, delivery_id: { description: 'As in the list.' } },
  answers: { 200: { description: 'It waits again.', schema: Type.Object({ delivery_id: Type.String() }) } },
  refusals: ['not_found', 'invalid_state', 'invalid_request'],
};

const Count = Type.Integer({ minimum: 0 });
export const replayAll: Operation = {
  ...one,
  summary: 'Send once more what was given up for a webhook',
  description: `The oldest first, up to ${mostReplayed} at once. While dead is not 0, ask again for the others.`,
  answers: {
    200: {
      description: 'How many wait again, and how many are still given up.',
      schema: Type.Object({ replayed: Count, dead: Count }),
    },
  },
  refusals: ['not_found', 'invalid_request'],
};
