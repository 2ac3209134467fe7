import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { httpsTargetPattern } from '../../platform/http/url-patterns.ts';
import { shownOnce, table } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { deliveryMembers, deliveryQuery, describeDeliveries } from '../../webhooks/delivery-parts.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import { allWebhooks, findDeliveries } from '../../webhooks/list-webhooks.ts';
import {
  createWebhook,
  disable,
  enable,
  maxReplayed,
  removeWebhook,
  replay,
  replayDead,
  rotateSecret,
  sendTest,
} from '../../webhooks/manage-webhook.ts';
import { administration, strictBody } from '../operation-parts.ts';

const record = {
  webhook_id: Type.String(),
  url: Type.String(),
  event_types: Type.Array(Type.Enum([...eventTypes])),
  created_at: Time,
  disabled_at: nullable(Time),
};
const secret = Type.String({ description: '`whsec_...`' });

const Delivery = Type.Object({ ...deliveryMembers, event_id: Type.String(), event_type: Type.String() });

const path = '/v1/admin/webhooks';
const one = { ...administration, parameters: { webhook_id: 'As in the list.' } } as const;
const change = { ...one, method: 'POST', refusals: ['not_found', 'invalid_state'] } as const;
const onlyId = (description: string) => ({ description, schema: Type.Object({ webhook_id: Type.String() }) });
const Count = Type.Integer({ minimum: 0 });

export const webhookOperations = {
  list: operation({
    ...administration,
    id: 'listWebhooks',
    method: 'GET',
    path,
    summary: 'List webhooks',
    answer: {
      description: 'Oldest first, without secrets.',
      schema: Type.Object({ webhooks: Type.Array(Type.Object(record)) }),
    },
    run: async (deps) => ({ webhooks: await allWebhooks(deps) }),
    command: {
      name: 'webhooks list',
      text: ({ webhooks }) =>
        table([
          ['WEBHOOK', 'STATE', 'URL', 'EVENTS'],
          ...webhooks.map((each) => [
            each.webhook_id,
            each.disabled_at === null ? 'on' : 'off',
            each.url,
            each.event_types,
          ]),
        ]),
    },
  }),

  create: operation({
    ...administration,
    id: 'createWebhook',
    method: 'POST',
    path,
    summary: 'Create a webhook (Standard Webhooks)',
    description:
      'A delivery is {type, timestamp, data}. data contains event_id, target, actor, reason, the change as state and, if ' +
      'tokens were revoked, ended: the tokens whose sub, client_id and sid match its user_id, client_id and session_id, each an ID or ' +
      '"all", except those whose sid is except_session_id.',
    body: strictBody({
      url: Type.String({
        format: 'uri',
        description: 'The URL that events are sent to; https, unless the operator allows internal targets.',
        ...inCode({ maxLength: 2000, pattern: httpsTargetPattern }),
      }),
      event_types: Type.Array(Type.Enum([...eventTypes]), { minItems: 1, description: 'The event types to send.' }),
    }),
    example: { url: 'https://hooks.example.com/signet', event_types: ['user.disabled', 'client.suspended'] },
    answer: {
      description: 'With the secret that signs deliveries, returned only once.',
      schema: Type.Object({ ...record, secret }),
    },
    run: (deps, { caller, body }) => createWebhook(deps, caller, body),
    command: {
      name: 'webhooks create',
      summary: 'Create a webhook (Standard Webhooks). Prints its signing secret, which cannot be shown again.',
      options: { event: 'event_types' },
      text: ({ webhook_id, secret }) => shownOnce({ webhook_id, secret }),
    },
  }),

  delete: operation({
    ...one,
    id: 'deleteWebhook',
    method: 'DELETE',
    path: `${path}/:webhook_id`,
    summary: 'Delete a webhook and its deliveries',
    answer: { description: 'Deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, webhook_id }) => removeWebhook(deps, caller, webhook_id),
    command: {
      name: 'webhooks delete',
      json: (_, { webhook_id }) => ({ deleted: webhook_id }),
      text: (_, { webhook_id }) => `${webhook_id} has been deleted.`,
    },
  }),

  enable: operation({
    ...change,
    id: 'enableWebhook',
    path: `${path}/:webhook_id/enable`,
    summary: 'Enable a webhook',
    answer: onlyId('Enabled. Pending deliveries are sent.'),
    run: (deps, { caller, webhook_id }) => enable(deps, caller, webhook_id),
    command: {
      name: 'webhooks enable',
      summary: 'Enable a webhook and send its pending deliveries.',
      json: ({ webhook_id }) => ({ enabled: webhook_id }),
      text: ({ webhook_id }) => `${webhook_id} is enabled.`,
    },
  }),

  disable: operation({
    ...change,
    id: 'disableWebhook',
    path: `${path}/:webhook_id/disable`,
    summary: 'Disable a webhook',
    answer: onlyId('Disabled. Pending deliveries are kept.'),
    run: (deps, { caller, webhook_id }) => disable(deps, caller, webhook_id),
    command: {
      name: 'webhooks disable',
      summary: 'Disable a webhook. Pending deliveries are kept until it is enabled.',
      json: ({ webhook_id }) => ({ disabled: webhook_id }),
      text: ({ webhook_id }) => `${webhook_id} is disabled.`,
    },
  }),

  test: operation({
    ...change,
    id: 'testWebhook',
    path: `${path}/:webhook_id/test`,
    summary: 'Send a test event to a webhook',
    answer: onlyId('Accepted for delivery, as webhook.test.'),
    run: (deps, { caller, webhook_id }) => sendTest(deps, caller, webhook_id),
    command: {
      name: 'webhooks test',
      summary: 'Send a webhook.test event; `webhooks deliveries` shows the result.',
      json: ({ webhook_id }) => ({ tested: webhook_id }),
      text: ({ webhook_id }) => `webhook.test will be sent to ${webhook_id} within seconds if the server is running.`,
    },
  }),

  rotateSecret: operation({
    ...change,
    id: 'rotateWebhookSecret',
    path: `${path}/:webhook_id/rotate-secret`,
    summary: 'Rotate the signing secret of a webhook',
    answer: {
      description: 'With the new secret, returned only once. It signs all deliveries from now on.',
      schema: Type.Object({ webhook_id: Type.String(), secret }),
    },
    refusals: ['not_found'],
    run: (deps, { caller, webhook_id }) => rotateSecret(deps, caller, webhook_id),
    command: {
      name: 'webhooks rotate-secret',
      summary: 'Rotate the signing secret of a webhook. Prints the new secret, which cannot be shown again.',
      text: ({ webhook_id, secret }) => shownOnce({ webhook_id, secret }),
    },
  }),

  listDeliveries: operation({
    ...one,
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: `${path}/:webhook_id/deliveries`,
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
      summary: 'List the deliveries of a webhook, newest first, one page at a time.',
      text: (found) => describeDeliveries(found, 'EVENT', ({ event_type }) => event_type),
    },
  }),

  replayDelivery: operation({
    ...change,
    id: 'replayWebhookDelivery',
    path: `${path}/:webhook_id/deliveries/:delivery_id/replay`,
    summary: 'Resend a failed delivery',
    parameters: { ...one.parameters, delivery_id: 'As in the list.' },
    answer: { description: 'Accepted for delivery.', schema: Type.Object({ delivery_id: Type.String() }) },
    run: (deps, { caller, webhook_id, delivery_id }) => replay(deps, caller, { webhook_id, delivery_id }),
  }),

  replayDead: operation({
    ...change,
    id: 'replayDeadWebhookDeliveries',
    path: `${path}/:webhook_id/deliveries/replay`,
    summary: 'Resend all failed deliveries of a webhook',
    description: `Oldest first, up to ${maxReplayed} per request. Repeat the request until dead is 0.`,
    answer: {
      description: 'Number of deliveries accepted for resending, and number of deliveries that are still failed.',
      schema: Type.Object({ replayed: Count, dead: Count }),
    },
    run: (deps, { caller, webhook_id }) => replayDead(deps, caller, webhook_id),
  }),
};
