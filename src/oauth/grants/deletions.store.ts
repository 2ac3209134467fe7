import { inOneSlice, sliceRows } from '../../platform/db/slices.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, UserId } from '../../platform/ids.ts';
import { noteLostWith } from './lost-apps.store.ts';
import { rememberDeleted } from './revoked-access-tokens.store.ts';

// Grants that are deleted with their user or client, and what is remembered of them.

/** No more than are deleted by the same change as the user or the client; of more, each slice remembers its own. */
export function rememberDeletedOf(of: { user_id: UserId } | { client_id: ClientId }, now: number): Sql[] {
  const slice = (owner: Sql) => inOneSlice('grants', 'grant_id', owner, sliceRows);
  if ('user_id' in of) return rememberDeleted(slice(sql`user_id = ${of.user_id}`), now);
  const ofClient = slice(sql`client_id = ${of.client_id}`);
  return [...rememberDeleted(ofClient, now), noteLostWith(ofClient, now)];
}
