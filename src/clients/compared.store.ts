import type { Db } from '../platform/db/db.ts';
import { integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { sql } from '../platform/db/sql.ts';
import type { ClientStatus } from './choices.ts';
import { ClientRow } from './client.ts';

/** What a client under review is compared with. `version` changes with the client. */
export const ComparedRow = row('clients', {
  ...ClientRow.pick('client_id', 'owner_user_id', 'name', 'redirect_uris', 'post_logout_redirect_uris').fields,
  version: text,
});
export type ComparedRow = RowOf<typeof ComparedRow>;

/** The names and redirect URIs of clients in one status, the oldest first. */
export const readComparedClients = (db: Db, status: ClientStatus, limit: number) =>
  db.shared.all(
    ComparedRow,
    sql`select client_id, owner_user_id, name, redirect_uris, post_logout_redirect_uris, event_id as version from clients
         where status = ${status} order by created_at, client_id limit ${limit}`,
  );

const NewestChange = row('clients', { approved: integer, suspended: integer, remembered: integer });

/** When a client that reviews compare with changed last, in Unix seconds; 0 for never. */
export async function newestComparedChange(db: Db): Promise<number> {
  const newestIn = (status: ClientStatus) =>
    sql`coalesce((select max(updated_at) from clients where status = ${status}), 0)`;
  const newest = await db.shared.get(
    NewestChange,
    sql`select ${newestIn('approved')} as approved, ${newestIn('suspended')} as suspended,
               coalesce((select max(deleted_at) from remembered_suspensions), 0) as remembered`,
  );
  return Math.max(...Object.values(newest ?? { none: 0 }));
}

/** Clients that were suspended when they were deleted, the latest first. */
export const readRememberedSuspensions = (db: Db, limit: number) =>
  db.shared.all(
    ComparedRow,
    sql`select client_id, owner_user_id, name, redirect_uris, '[]' as post_logout_redirect_uris, 'deleted' as version
          from remembered_suspensions
         order by deleted_at desc, client_id limit ${limit}`,
  );
