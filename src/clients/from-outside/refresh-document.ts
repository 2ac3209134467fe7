import { now } from '../../platform/clock.ts';
import type { Deps as PlatformDeps } from '../../platform/deps.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { type ClientDeps, sameJson } from '../change-client.ts';
import { type Client, pick, type ReviewedFields, reviewedFields } from '../client.ts';
import { editClient } from '../edit-client.ts';
import { readDocument, saveDocument } from './documents.store.ts';
import type { FromOutside } from './read-metadata.ts';

/** A document as it was read. Times are Unix seconds. */
export type ReadDocument = FromOutside & { fetched_at: number; fresh_until: number };

/** Each is a row of the audit log for good, and an unauthenticated requester makes it. */
const changesPerDay = 10;

/**
 * Takes over what a document says now, if it is no longer fresh, as an edit by an owner: what was approved goes on, and what is
 * different waits for a review. Only what the document has changed is wanted; what a reviewer has narrowed stays so.
 * @param read throws whatever is wrong with the document; then nothing is changed.
 * @returns when to look again, in Unix seconds.
 */
export async function refreshDocument(
  deps: ClientDeps & Pick<PlatformDeps, 'config'>,
  { client_id }: Client,
  read: () => Promise<ReadDocument>,
): Promise<number> {
  const known = await readDocument(deps.db, client_id);
  if (known && known.fresh_until > now(deps)) return known.fresh_until;
  const { registration, fetched_at, fresh_until } = await read();
  const fields: ReviewedFields = pick(registration as unknown as Client, reviewedFields);
  const changed = reviewedFields.filter(
    (field) => known && field in known.fields && !sameJson(known.fields[field], fields[field]),
  );
  if (changed.length > 0) {
    const limit = windowLimit(deps, { name: 'document-changes', limit: changesPerDay, windowSeconds: 86_400 });
    await limit.take(client_id);
    const edit = { revision: undefined, fields: pick(registration as unknown as Client, changed) };
    await editClient(deps, { client_id, owner_user_id: null, caller: { actor: 'system' } }, edit);
  }
  await deps.db.shared.run(saveDocument({ client_id, fields, fetched_at, fresh_until }));
  return fresh_until;
}
