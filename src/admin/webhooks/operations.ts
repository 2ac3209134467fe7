import { answerOf } from '../../platform/edited.ts';
import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { httpsTargetPattern } from '../../platform/http/url-patterns.ts';
import { list, shownOnce, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import { allWebhooks } from '../../webhooks/list-webhooks.ts';
import {
  createWebhook,
  disable,
  editWebhook,
  enable,
  longestSecretOverlap,
  removeWebhook,
  rotateSecret,
  sendTest,
} from '../../webhooks/manage-webhook.ts';
import { administration, strictBody } from '../operation-parts.ts';
import { deliveryOperations } from './delivery-operations.ts';
import { changeOfWebhook, oneWebhook, webhooksEndpoint } from './operation-parts.ts';

const record = {
  webhook_id: Type.String(),
  name: nullable(Type.String()),
  url: Type.String(),
  event_types: Type.Array(Type.Enum([...eventTypes])),
  created_at: Time,
  failing_since: nullable(
    Type.Integer({ description: 'Unix seconds. No delivery has succeeded since then; null while they do.' }),
  ),
  disabled_at: nullable(Time),
  disabled_reason: nullable(
    Type.Enum(['gone', 'failing'], {
      description:
        'Why the system has disabled it: its receiver responded with 410, or no delivery had succeeded for days. Null if an administrator did.',
    }),
  ),
};
const secret = Type.String({ description: '`whsec_...`' });

/** An empty one is none. */
const nameOrNone = inCode({ maxLength: 100, pattern: `${textPatterns.name}|^$` });

const terms = {
  name: Type.Optional(Type.String({ description: 'Name that administrators see instead of the host.', ...nameOrNone })),
  url: Type.String({
    format: 'uri',
    description: 'The URL that events are sent to; https, unless the operator allows internal targets.',
    ...inCode({ maxLength: 2000, pattern: httpsTargetPattern }),
  }),
  event_types: Type.Array(Type.Enum([...eventTypes]), { minItems: 1, description: 'The event types to send.' }),
};

const onlyId = (description: string) => ({ description, schema: Type.Object({ webhook_id: Type.String() }) });

/** More events than these are a number in the list. */
const maxListed = 3;

export const webhookOperations = {
  list: operation({
    ...administration('webhooks:read'),
    id: 'listWebhooks',
    method: 'GET',
    path: webhooksEndpoint,
    summary: 'List webhooks',
    answer: {
      description: 'Oldest first, without secrets.',
      schema: Type.Object({ webhooks: Type.Array(Type.Object(record)) }),
    },
    run: async (deps) => ({ webhooks: await allWebhooks(deps) }),
    command: {
      name: 'webhooks list',
      text: ({ webhooks }) =>
        list([
          ['WEBHOOK', 'STATE', 'NAME', 'URL', 'EVENTS'],
          ...webhooks.map((each) => [
            each.webhook_id,
            each.disabled_at !== null ? 'off' : each.failing_since === null ? 'on' : 'failing',
            each.name,
            each.url,
            each.event_types.length > maxListed ? `${each.event_types.length} events` : each.event_types,
          ]),
        ]),
    },
  }),

  create: operation({
    ...administration('webhooks:write'),
    id: 'createWebhook',
    method: 'POST',
    path: webhooksEndpoint,
    summary: 'Create a webhook (Standard Webhooks)',
    description:
      'A delivery is {type, timestamp, data}. data contains event_id, target, actor, reason, the change as state and, if ' +
      'tokens were revoked, ended: the tokens whose sub, client_id and sid match its user_id, client_id and session_id, each an ID or ' +
      '"all", except those whose sid is except_session_id. The signature is in the header webhook-signature.',
    body: strictBody(terms),
    example: { name: 'Billing', url: 'https://hooks.example.com/signet', event_types: ['user.disabled'] },
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

  edit: operation({
    ...oneWebhook('webhooks:write'),
    id: 'editWebhook',
    method: 'PATCH',
    path: `${webhooksEndpoint}/:webhook_id`,
    summary: 'Edit a webhook',
    description: 'Members that are left out stay as they are. Pending deliveries are sent to the new URL.',
    body: strictBody(
      { name: terms.name, url: Type.Optional(terms.url), event_types: Type.Optional(terms.event_types) },
      { minProperties: 1 },
    ),
    example: { name: 'Billing', event_types: ['user.disabled'] },
    answer: { description: 'The webhook after the change.', schema: Type.Object(record) },
    refusals: ['not_found'],
    run: async (deps, { caller, webhook_id, body }) => answerOf(await editWebhook(deps, caller, webhook_id, body)),
    command: {
      name: 'webhooks edit',
      options: { event: 'event_types' },
      text: ({ webhook_id }) => `${webhook_id} has been changed.`,
    },
  }),

  delete: operation({
    ...oneWebhook('webhooks:write'),
    id: 'deleteWebhook',
    method: 'DELETE',
    path: `${webhooksEndpoint}/:webhook_id`,
    summary: 'Delete a webhook and its deliveries',
    answer: { description: 'Deleted.' },
    refusals: ['not_found'],
    run: (deps, { caller, webhook_id }) => removeWebhook(deps, caller, webhook_id),
    command: {
      name: 'webhooks delete',
      confirm: 'This deletes the webhook and its deliveries. It cannot be undone.',
      summary: 'Delete a webhook and its deliveries.',
      json: (_, { webhook_id }) => ({ deleted: webhook_id }),
      text: (_, { webhook_id }) => `${webhook_id} has been deleted.`,
    },
  }),

  enable: operation({
    ...changeOfWebhook('webhooks:write'),
    id: 'enableWebhook',
    path: `${webhooksEndpoint}/:webhook_id/enable`,
    summary: 'Enable a webhook',
    answer: onlyId('Enabled. Pending deliveries are sent.'),
    run: (deps, { caller, webhook_id }) => enable(deps, caller, webhook_id),
    command: {
      name: 'webhooks enable',
      summary: 'Enable a webhook. Sends its pending deliveries.',
      json: ({ webhook_id }) => ({ enabled: webhook_id }),
      text: ({ webhook_id }) => `${webhook_id} is enabled.`,
    },
  }),

  disable: operation({
    ...changeOfWebhook('webhooks:write'),
    id: 'disableWebhook',
    path: `${webhooksEndpoint}/:webhook_id/disable`,
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
    ...changeOfWebhook('webhooks:write'),
    id: 'testWebhook',
    path: `${webhooksEndpoint}/:webhook_id/test`,
    summary: 'Send a test event to a webhook',
    answer: onlyId('Accepted for delivery, as webhook.test.'),
    run: (deps, { caller, webhook_id }) => sendTest(deps, caller, webhook_id),
    command: {
      name: 'webhooks test',
      summary: 'Send a test event to a webhook. `signet webhooks deliveries` shows the result.',
      json: ({ webhook_id }) => ({ tested: webhook_id }),
      text: ({ webhook_id }) => `webhook.test will be sent to ${webhook_id} within seconds if the server is running.`,
    },
  }),

  rotateSecret: operation({
    ...changeOfWebhook('webhooks:write'),
    id: 'rotateWebhookSecret',
    path: `${webhooksEndpoint}/:webhook_id/rotate-secret`,
    summary: 'Rotate the signing secret of a webhook',
    description:
      'The new secret signs all deliveries from now on. Until `previous_expires_at` the header `webhook-signature` has a second signature, under the secret before.',
    body: strictBody({
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: longestSecretOverlap,
          default: longestSecretOverlap,
          description: 'Seconds for which the secret before signs, too; 0 if it has leaked.',
        }),
      ),
    }),
    bodyIsOptional: true,
    example: { overlap_seconds: 0 },
    answer: {
      description: 'With the new secret, returned only once.',
      schema: Type.Object({ webhook_id: Type.String(), secret, previous_expires_at: Time }),
    },
    refusals: ['not_found', 'invalid_request'],
    run: (deps, { caller, webhook_id, body }) => rotateSecret(deps, caller, webhook_id, body.overlap_seconds),
    command: {
      name: 'webhooks rotate-secret',
      confirm: ({ overlap }) =>
        overlap === 0 ? 'The current secret stops signing at once. It cannot be restored.' : undefined,
      options: { overlap: 'overlap_seconds' },
      summary: 'Rotate the signing secret of a webhook. Prints the new secret, which cannot be shown again.',
      text: ({ webhook_id, secret, previous_expires_at }) =>
        `${shownOnce({ webhook_id, secret })}\nThe previous secret signs beside it until ${time(previous_expires_at)}.`,
    },
  }),

  ...deliveryOperations,
};
