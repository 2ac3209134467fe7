import { csvRow } from '../platform/csv.ts';
import type { Db } from '../platform/db/db.ts';
import { type Cursor, inPages } from '../platform/db/slices.ts';
import type { Client } from './client.ts';
import { type ClientListing, listClients } from './search.store.ts';

const utc = (at: number) => new Date(at * 1000).toISOString();

/** Of owners the id alone: a file that is passed on tells nothing else of them. */
const columns: readonly (readonly [name: string, cell: (client: Client) => string | null])[] = [
  ['client_id', ({ client_id }) => client_id],
  ['name', ({ name }) => name],
  ['status', ({ status }) => status],
  ['pending_change', ({ pending_change }) => (pending_change === null ? 'no' : 'yes')],
  ['client_type', ({ client_type }) => client_type],
  ['application_type', ({ application_type }) => application_type],
  ['first_party', ({ is_first_party }) => (is_first_party ? 'yes' : 'no')],
  ['origin', ({ origin }) => origin],
  ['owner_user_id', ({ owner_user_id }) => owner_user_id],
  ['redirect_uris', ({ redirect_uris }) => redirect_uris.join(' ')],
  ['allowed_scopes', ({ allowed_scopes }) => allowed_scopes.join(' ')],
  ['consent', ({ consent }) => consent],
  ['homepage_url', ({ homepage_url }) => homepage_url],
  ['created_at', ({ created_at }) => utc(created_at)],
  ['updated_at', ({ updated_at }) => utc(updated_at)],
];

/** A CSV file of a listing, oldest first, read a page at a time so that memory stays bounded. */
export async function* exportClients({ db }: { db: Db }, listing: ClientListing): AsyncGenerator<string> {
  yield csvRow(columns.map(([name]) => name));
  yield* inPages(async (after: Cursor | undefined, limit) => {
    const clients = await listClients(db, { listing, order: 'oldest', after, limit });
    const last = clients.length > limit ? clients[limit - 1] : undefined;
    return {
      page: clients
        .slice(0, limit)
        .map((client) => csvRow(columns.map(([, cell]) => cell(client))))
        .join(''),
      next: last && { at: last.created_at, id: last.client_id },
    };
  });
}
