import { eventTypes } from '../webhooks/event-types.ts';
import {
  createWebhook,
  deliveryRecord,
  removeWebhook,
  replay,
  requireWebhook,
  webhookRecord,
} from '../webhooks/manage-webhook.ts';
import { listDeliveries, listWebhooks } from '../webhooks/store.ts';
import { disable, enable, rotateSecret, sendTest } from '../webhooks/tend-webhook.ts';
import { type Command, table, time } from './command.ts';

const caller = { actor: 'cli' } as const;
const operands = ['webhook_id'];
const mostListed = 200;

export const webhookCommands: Record<string, Command> = {
  'webhooks create': {
    usage: 'webhooks create --url <url> --event <type> [--event <type> ...]',
    summary: 'Has somebody told of events (Standard Webhooks). The secret that signs is printed this once.',
    options: {
      url: { type: 'string', help: 'where events are posted; https', required: true },
      event: { type: 'string', help: `${eventTypes.join(', ')}; may come several times`, required: true, many: true },
    },
    async run(deps, values) {
      const event_types = String(values.event)
        .split(/[\s,]+/)
        .filter(Boolean);
      const webhook = await createWebhook(deps, caller, { url: String(values.url), event_types });
      return {
        json: webhook,
        text: `  webhook_id  ${webhook.webhook_id}\n  secret      ${webhook.secret}\n\nThe secret is shown this once.`,
      };
    },
  },
  'webhooks list': {
    usage: 'webhooks list',
    summary: 'Lists who is told of what, never with a secret.',
    async run(deps) {
      const webhooks = (await listWebhooks(deps.db)).map(webhookRecord);
      const rows = webhooks.map((one) => [
        one.webhook_id,
        one.disabled_at === null ? 'on' : 'off',
        one.url,
        one.event_types.join(' '),
      ]);
      return { json: { webhooks }, text: table([['WEBHOOK', 'STATE', 'URL', 'EVENTS'], ...rows]) };
    },
  },
  'webhooks disable': {
    usage: 'webhooks disable <webhook_id>',
    summary: 'Tells it nothing until it is enabled. What waits already is kept.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      await disable(deps, caller, webhook_id);
      return { json: { disabled: webhook_id }, text: `${webhook_id} is told nothing until it is enabled.` };
    },
  },
  'webhooks enable': {
    usage: 'webhooks enable <webhook_id>',
    summary: 'Tells it again, also what has waited.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      await enable(deps, caller, webhook_id);
      return { json: { enabled: webhook_id }, text: `${webhook_id} is told again.` };
    },
  },
  'webhooks test': {
    usage: 'webhooks test <webhook_id>',
    summary: 'Sends it a webhook.test; `webhooks deliveries` shows whether it arrived.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      await sendTest(deps, caller, webhook_id);
      return { json: { tested: webhook_id }, text: `${webhook_id} will get a webhook.test within seconds.` };
    },
  },
  'webhooks rotate-secret': {
    usage: 'webhooks rotate-secret <webhook_id>',
    summary: 'Signs with another secret from now on. It is printed this once.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      const made = await rotateSecret(deps, caller, webhook_id);
      return { json: made, text: `  secret  ${made.secret}\n\nThe secret is shown this once.` };
    },
  },
  'webhooks delete': {
    usage: 'webhooks delete <webhook_id>',
    summary: 'Takes a webhook away with its deliveries.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      await removeWebhook(deps, caller, webhook_id);
      return { json: { deleted: webhook_id }, text: `${webhook_id} is told nothing any more.` };
    },
  },
  'webhooks deliveries': {
    usage: 'webhooks deliveries <webhook_id>',
    summary: 'Lists what was sent, what waits, and what was given up, newest first.',
    operands,
    async run(deps, _values, [webhook_id = '']) {
      await requireWebhook(deps, webhook_id);
      const deliveries = (await listDeliveries(deps.db, webhook_id, mostListed)).map(deliveryRecord);
      const rows = deliveries.map((one) => [
        one.delivery_id,
        one.event_type,
        one.state,
        String(one.attempts),
        time(one.created_at),
        one.last_error ?? '-',
      ]);
      return {
        json: { deliveries },
        text: table([['DELIVERY', 'EVENT', 'STATE', 'ATTEMPTS', 'CREATED', 'LAST ERROR'], ...rows]),
      };
    },
  },
  'webhooks replay': {
    usage: 'webhooks replay <webhook_id> <delivery_id>',
    summary: 'Sends a delivery that was given up once more.',
    operands: ['webhook_id', 'delivery_id'],
    async run(deps, _values, [webhook_id = '', delivery_id = '']) {
      await replay(deps, caller, { webhook_id, delivery_id });
      return { json: { replayed: delivery_id }, text: `${delivery_id} will be sent again within seconds.` };
    },
  },
};
