import { replayDeadDeliveries, replayDelivery, webhookOperations } from '../admin/webhooks/operations.ts';
import { maxReplayed } from '../webhooks/manage-webhook.ts';
import { command, UsageError } from './command.ts';
import { commandsOf } from './operation-command.ts';

const caller = { actor: 'cli' } as const;
const nothing = { body: undefined, query: {} };

export const webhookCommands = {
  ...commandsOf(webhookOperations),
  'webhooks replay': command({
    summary: 'Replay a delivery that was given up; with --all, every one of the webhook.',
    operands: { webhook_id: { value: 'webhook_id' }, delivery_id: { value: 'delivery_id', optional: true } },
    options: { all: { help: `all that were given up, the oldest first, up to ${maxReplayed} at once` } },
    async run(deps, { webhook_id, delivery_id, all }) {
      if (all === (delivery_id !== undefined)) throw new UsageError('It takes either a <delivery_id> or --all.');
      if (delivery_id !== undefined) {
        await replayDelivery.run(deps, { caller, webhook_id, delivery_id, ...nothing });
        return {
          json: { replayed: delivery_id },
          text: `${delivery_id} will be sent again within seconds, if the server runs.`,
        };
      }
      const counts = await replayDeadDeliveries.run(deps, { caller, webhook_id, ...nothing });
      const left = counts.dead > 0 ? ` ${counts.dead} are still given up: repeat the command for those.` : '';
      return { json: counts, text: `${counts.replayed} will be sent again within seconds, if the server runs.${left}` };
    },
  }),
};
