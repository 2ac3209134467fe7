import { eventTypes } from '../webhooks/event-types.ts';
import { allWebhooks, deliveriesTo } from '../webhooks/list-webhooks.ts';
import { createWebhook, removeWebhook, replay } from '../webhooks/manage-webhook.ts';
import { disable, enable, rotateSecret, sendTest } from '../webhooks/tend-webhook.ts';
import { command } from './command.ts';
import { done, listed, shownOnce, time } from './report.ts';

const caller = { actor: 'cli' } as const;
const webhook = { webhook_id: { value: 'webhook_id' } } as const;
const mostListed = 200;

export const webhookCommands = {
  'webhooks create': command({
    summary: 'Has somebody told of events (Standard Webhooks). The secret that signs is printed this once.',
    options: {
      url: { value: 'url', help: 'where events are posted; https', required: true },
      event: { value: 'type', between: /[\s,]+/, help: eventTypes.join(', '), required: true },
    },
    async run(deps, { url, event }) {
      const made = await createWebhook(deps, caller, { url, event_types: event });
      return { json: made, text: shownOnce({ webhook_id: made.webhook_id, secret: made.secret }) };
    },
  }),
  'webhooks list': command({
    summary: 'Lists who is told of what, never with a secret.',
    run: async (deps) =>
      listed('webhooks', await allWebhooks(deps), ['WEBHOOK', 'STATE', 'URL', 'EVENTS'], (one) => [
        one.webhook_id,
        one.disabled_at === null ? 'on' : 'off',
        one.url,
        one.event_types.join(' '),
      ]),
  }),
  'webhooks disable': command({
    summary: 'Tells it nothing until it is enabled. What waits already is kept.',
    operands: webhook,
    run: (deps, { webhook_id }) =>
      done(
        disable(deps, caller, webhook_id),
        { disabled: webhook_id },
        `${webhook_id} is told nothing until it is enabled.`,
      ),
  }),
  'webhooks enable': command({
    summary: 'Tells it again, also what has waited.',
    operands: webhook,
    run: (deps, { webhook_id }) =>
      done(enable(deps, caller, webhook_id), { enabled: webhook_id }, `${webhook_id} is told again.`),
  }),
  'webhooks test': command({
    summary: 'Sends it a webhook.test; `webhooks deliveries` shows whether it arrived.',
    operands: webhook,
    run: (deps, { webhook_id }) =>
      done(
        sendTest(deps, caller, webhook_id),
        { tested: webhook_id },
        `${webhook_id} will get a webhook.test within seconds, if the server runs.`,
      ),
  }),
  'webhooks rotate-secret': command({
    summary: 'Signs with another secret from now on. It is printed this once.',
    operands: webhook,
    async run(deps, { webhook_id }) {
      const made = await rotateSecret(deps, caller, webhook_id);
      return { json: made, text: shownOnce(made) };
    },
  }),
  'webhooks delete': command({
    summary: 'Takes a webhook away with its deliveries.',
    operands: webhook,
    run: (deps, { webhook_id }) =>
      done(removeWebhook(deps, caller, webhook_id), { deleted: webhook_id }, `${webhook_id} is told nothing any more.`),
  }),
  'webhooks deliveries': command({
    summary: `Lists what was sent, what waits, and what was given up: the newest ${mostListed}, newest first.`,
    operands: webhook,
    run: async (deps, { webhook_id }) =>
      listed(
        'deliveries',
        await deliveriesTo(deps, webhook_id, mostListed),
        ['DELIVERY', 'EVENT', 'STATE', 'ATTEMPTS', 'CREATED', 'LAST ERROR'],
        (one) => [
          one.delivery_id,
          one.event_type,
          one.state,
          String(one.attempts),
          time(one.created_at),
          one.last_error ?? '-',
        ],
      ),
  }),
  'webhooks replay': command({
    summary: 'Sends a delivery that was given up once more.',
    operands: { ...webhook, delivery_id: { value: 'delivery_id' } },
    run: (deps, { webhook_id, delivery_id }) =>
      done(
        replay(deps, caller, { webhook_id, delivery_id }),
        { replayed: delivery_id },
        `${delivery_id} will be sent again within seconds, if the server runs.`,
      ),
  }),
};
