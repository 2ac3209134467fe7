import { command, UsageError } from '../platform/cli/command.ts';
import { done, listed, type Report, shownOnce, table, time } from '../platform/cli/report.ts';
import { eventTypes } from '../webhooks/event-types.ts';
import { allWebhooks, deliveriesTo, deliveryStates } from '../webhooks/list-webhooks.ts';
import { createWebhook, removeWebhook, replay } from '../webhooks/manage-webhook.ts';
import { mostReplayed, replayDead } from '../webhooks/replay-dead.ts';
import { disable, enable, rotateSecret, sendTest } from '../webhooks/tend-webhook.ts';

const caller = { actor: 'cli' } as const;
const webhook = { webhook_id: { value: 'webhook_id' } } as const;

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
    summary: 'Lists what was sent, what waits, and what was given up (dead), newest first, a page at a time.',
    operands: webhook,
    options: {
      state: { value: 'state', oneOf: deliveryStates, help: 'only these' },
      limit: { value: 'n', whole: [1, 500], help: 'how many at most; 50 without it' },
      after: { value: 'place', help: 'where the list before ended, as it said' },
    },
    async run(deps, { webhook_id, ...search }) {
      const { deliveries, next } = await deliveriesTo(deps, webhook_id, search);
      const headings = ['DELIVERY', 'EVENT', 'STATE', 'ATTEMPTS', 'CREATED', 'LAST ERROR'];
      const rows = deliveries.map((one) => [
        one.delivery_id,
        one.event_type,
        one.state,
        String(one.attempts),
        time(one.created_at),
        one.last_error ?? '-',
      ]);
      const list = table([headings, ...rows]);
      return {
        json: { deliveries, next },
        text: next === null ? list : `${list}\n\nThere are more: --after ${next}`,
      };
    },
  }),
  'webhooks replay': command({
    summary: 'Sends a delivery that was given up once more; with --all, every one of the webhook.',
    operands: { ...webhook, delivery_id: { value: 'delivery_id', optional: true } },
    options: { all: { help: `all that were given up, the oldest first, up to ${mostReplayed} at once` } },
    async run(deps, { webhook_id, delivery_id, all }) {
      if (all === (delivery_id !== undefined)) throw new UsageError('It takes either a <delivery_id> or --all.');
      if (delivery_id === undefined) return replayedAll(await replayDead(deps, caller, webhook_id));
      return done(
        replay(deps, caller, { webhook_id, delivery_id }),
        { replayed: delivery_id },
        `${delivery_id} will be sent again within seconds, if the server runs.`,
      );
    },
  }),
};

function replayedAll(counts: Awaited<ReturnType<typeof replayDead>>): Report {
  const { replayed, dead } = counts;
  const left = dead > 0 ? ` ${dead} are still given up: ask once more for those.` : '';
  return { json: counts, text: `${replayed} will be sent again within seconds, if the server runs.${left}` };
}
