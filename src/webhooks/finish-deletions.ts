import type { Deps } from '../audit/deps.ts';
import { inSlices } from '../platform/db/slices.ts';
import { deleteDeletedWebhook, deleteDeliveriesOf, deletedWebhooks } from './store.ts';

/** Deletes the deliveries of webhooks that are gone for everybody already, in slices, and then the webhooks. */
export async function finishWebhookDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<void> {
  for (const { webhook_id } of await deletedWebhooks(db)) {
    const isDone = await inSlices(async (rows) => (await deleteDeliveriesOf(db, webhook_id, rows)).changes, signal);
    if (!isDone) return;
    await deleteDeletedWebhook(db, webhook_id);
  }
}
