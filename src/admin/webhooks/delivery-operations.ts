import { deliveryMembers, deliveryQuery, describeDeliveries } from '../../deliveries/operation-parts.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { table, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { maxAttemptsKept } from '../../webhooks/attempts.ts';
import { findDeliveries, findDelivery } from '../../webhooks/list-webhooks.ts';
import { maxReplayed, replay, replayDead } from '../../webhooks/replay.ts';
import { maxDeadCounted } from '../../webhooks/statements.ts';
import { anyWebhook, changeOfWebhook, oneWebhook, webhooksEndpoint } from './operation-parts.ts';

const delivery = {
  ...deliveryMembers,
  event_id: Type.String(),
  event_type: Type.String(),
  response_status: nullable(Type.Integer({ description: 'Of the latest attempt; null without an answer.' })),
  duration_ms: nullable(Type.Integer({ minimum: 0, description: 'How long the latest attempt took.' })),
};
const Delivery = Type.Object(delivery);
const Attempt = Type.Object({
  at: Time,
  status: nullable(Type.Integer({ description: 'Null without an answer.' })),
  ms: Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.' }),
  problem: Type.Optional(Type.String({ description: 'Why it failed; left out of one that succeeded.' })),
});

export const describeDelivery = (one: Awaited<ReturnType<typeof findDelivery>>): string =>
  table([
    ['Delivery', one.delivery_id],
    ['Event', one.event_type],
    ['State', one.state],
    ['Attempts', one.attempts],
    ['Created', time(one.created_at)],
    ['Next attempt', time(one.next_attempt_at)],
    ['Last error', one.last_error],
    ['Response status', one.response_status],
    ['Duration', one.duration_ms === null ? null : `${one.duration_ms} ms`],
    ...one.attempt_list.map(({ at, status, ms, problem }, place): [string, string] => [
      `Attempt ${place + 1}`,
      `${time(at)} · ${status ?? 'no response'} · ${ms} ms${problem === undefined ? '' : ` · ${problem}`}`,
    ]),
    ...(one.attempt_list.length >= maxAttemptsKept ? [['', `The latest ${maxAttemptsKept} attempts are kept.`]] : []),
    ['Payload', one.payload],
    ['Response', one.response_body],
  ]);

const Count = Type.Integer({ minimum: 0 });

/** Part of the operations on webhooks. */
export const deliveryOperations = {
  listDeliveries: operation({
    ...oneWebhook('webhooks:read'),
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: `${webhooksEndpoint}/:webhook_id/deliveries`,
    summary: 'List the deliveries of a webhook',
    query: deliveryQuery,
    answer: {
      description: 'Newest first.',
      schema: Type.Object({ deliveries: Type.Array(Delivery), next: nullable(Type.String()) }),
    },
    refusals: ['not_found', 'invalid_request'],
    run: (deps, { webhook_id, query }) => findDeliveries(deps, webhook_id, query),
    command: {
      name: 'webhooks deliveries',
      summary: 'List the deliveries of a webhook, newest first.',
      text: (found) => describeDeliveries(found, 'EVENT', ({ event_type }) => event_type),
    },
  }),

  getDelivery: operation({
    ...oneWebhook('webhooks:read'),
    id: 'getWebhookDelivery',
    method: 'GET',
    path: `${webhooksEndpoint}/:webhook_id/deliveries/:delivery_id`,
    summary: 'Read a delivery: what was sent, and what was answered',
    parameters: { ...anyWebhook, delivery_id: 'As in the list.' },
    answer: {
      description: 'Kept for as long as the delivery.',
      schema: Type.Object({
        ...delivery,
        attempt_list: Type.Array(Attempt, { description: `The latest ${maxAttemptsKept}, oldest first.` }),
        payload: Type.String({ description: 'The body, as it is sent and signed.' }),
        response_body: nullable(
          Type.String({
            description: 'The first 1024 bytes of the answer to the latest attempt; null without an answer in UTF-8.',
          }),
        ),
      }),
    },
    refusals: ['not_found'],
    run: (deps, { webhook_id, delivery_id }) => findDelivery(deps, webhook_id, delivery_id),
    command: {
      name: 'webhooks delivery',
      summary: 'Show a delivery with its request and response.',
      text: describeDelivery,
    },
  }),

  replayDelivery: operation({
    ...changeOfWebhook('webhooks:write'),
    id: 'replayWebhookDelivery',
    path: `${webhooksEndpoint}/:webhook_id/deliveries/:delivery_id/replay`,
    summary: 'Send a delivery now that has failed or succeeded',
    description:
      'It has the same webhook-id and event_id as before, by which the receiver recognizes the repeat. One that waits after a failure is tried at once, and its attempts count on; one that is due already is refused. If the repeat fails, the webhook stays enabled.',
    parameters: { ...anyWebhook, delivery_id: 'As in the list.' },
    answer: { description: 'Accepted for delivery.', schema: Type.Object({ delivery_id: Type.String() }) },
    run: (deps, { caller, webhook_id, delivery_id }) => replay(deps, caller, { webhook_id, delivery_id }),
  }),

  replayDead: operation({
    ...changeOfWebhook('webhooks:write'),
    id: 'replayDeadWebhookDeliveries',
    path: `${webhooksEndpoint}/:webhook_id/deliveries/replay`,
    summary: 'Send all failed deliveries of a webhook now',
    description: `Those that were given up, and those that wait after a failure. Oldest first, up to ${maxReplayed} per request. Repeat the request until dead is 0; at most ${maxDeadCounted} are counted.`,
    answer: {
      description: 'Number of deliveries accepted for resending, and number of deliveries that are still failed.',
      schema: Type.Object({ replayed: Count, dead: Count }),
    },
    run: (deps, { caller, webhook_id }) => replayDead(deps, caller, webhook_id),
  }),
};
