import { type Client, ClientRow } from '../../src/clients/client.ts';
import { membersOf } from '../../src/clients/fields.ts';

/** An approved client of a server, as it is read from the store; what a registration may leave out is left out. */
export const aClient = (changes: Partial<Client> = {}): Client => ({
  ...membersOf('initial'),
  client_id: 'cl_1',
  owner_user_id: null,
  is_first_party: false,
  origin: null,
  client_type: 'confidential',
  name: 'App',
  application_type: 'web',
  redirect_uris: ['https://rp.test/cb'],
  refresh_retry_window: 0,
  consent: 'skip',
  profile: null,
  allowed_groups: null,
  visible_groups: null,
  logo_id: null,
  status: 'approved',
  status_reason: null,
  note_to_reviewer: null,
  revision: 1,
  pending_change: null,
  review_asked_at: null,
  event_id: 'evt_1',
  created_at: 0,
  updated_at: 0,
  secrets: [],
  ...changes,
});

/** The same as a row of `clients`. */
export function storedClient(changes: Partial<Client> = {}): Record<string, unknown> {
  const client: Readonly<Record<string, unknown>> = aClient(changes);
  const encoded = Object.entries(ClientRow.fields).map(([name, { codec }]) => [
    name,
    codec ? (codec as { encode(value: unknown): unknown }).encode(client[name]) : client[name],
  ]);
  return Object.fromEntries(encoded);
}
