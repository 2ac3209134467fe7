import { replayDeadDeliveries, replayDelivery, webhookOperations } from '../admin/webhooks/operations.ts';
import { maxReplayed } from '../webhooks/manage-webhook.ts';
import { command, UsageError } from './command.ts';
import { commandsOf } from './operation-command.ts';

const caller = { actor: 'cli' } as const;
const nothing = { body: undefined, query: {} };

export const webhookCommands = {
  ...commandsOf(webhookOperations),
  'webhooks replay': command({
    summary: 'Resend a failed delivery; with --all, every failed delivery of the webhook.',
    operands: { webhook_id: { value: 'webhook_id' }, delivery_id: { value: 'delivery_id', optional: true } },
    options: { all: { help: `all failed deliveries, oldest first, up to ${maxReplayed} at once` } },
    async run(deps, { webhook_id, delivery_id, all }) {
      if (all === (delivery_id !== undefined)) throw new UsageError('Give either a <delivery_id> or --all.');
      if (delivery_id !== undefined) {
        await replayDelivery.run(deps, { caller, webhook_id, delivery_id, ...nothing });
        return {
          json: { replayed: delivery_id },
          text: `${delivery_id} will be resent within seconds if the server is running.`,
        };
      }
      const counts = await replayDeadDeliveries.run(deps, { caller, webhook_id, ...nothing });
      const left =
        counts.dead > 0 ? ` ${counts.dead} failed deliveries remain: repeat the command to resend them.` : '';
      return {
        json: counts,
        text: `${counts.replayed} will be resent within seconds if the server is running.${left}`,
      };
    },
  }),
};
