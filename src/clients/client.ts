import {
  choice,
  flag,
  id,
  integer,
  jsonObject,
  nullable,
  type RowOf,
  row,
  text,
  type ValuesOf,
  words,
} from '../platform/db/rows.ts';
import { type ClientId, type EventId, type GroupId, isOwnId, type SecretId, type UserId } from '../platform/ids.ts';
import { clientOrigins, clientStatuses, clientTypes, consentPolicies, profiles } from './choices.ts';
import { fieldNames, membersOf } from './fields.ts';
import { describeKeys } from './keys/key-set.ts';
import { isMetadataUrl } from './metadata-url.ts';

const reviewed = membersOf('column');
/**
 * What an administrator reviews. An approved client's edits to these are staged in `pending_change`.
 */
export type ReviewedFields = Readonly<ValuesOf<typeof reviewed>>;
export const reviewedFields: readonly (keyof ReviewedFields)[] = fieldNames;

/** Times are Unix seconds. */
export const ClientRow = row('clients', {
  client_id: id<ClientId>(),
  /** Null for a first-party client, and once the owner's account is deleted: then only administrators may change it. */
  owner_user_id: nullable(id<UserId>()),
  /** Registered by an administrator or the operator, and so without an owner from the start. */
  is_first_party: flag,
  /** How a client came that no user has registered here, so that it has no owner; null for any other. */
  origin: nullable(choice(...clientOrigins)),
  client_type: choice(...clientTypes),
  ...reviewed,
  /** Seconds, 0 to 60, in which a lost refresh response may be requested again (decisions §7). */
  refresh_retry_window: integer,
  consent: choice(...consentPolicies),
  /** The security profile that its reviewer holds it to. */
  profile: nullable(choice(...profiles)),
  /** Whose members alone may use it; null: everyone may. */
  allowed_groups: nullable(words<GroupId>()),
  /** Those that it sees by the scope `groups`; null: all of the user. */
  visible_groups: nullable(words<GroupId>()),
  /** The picture that people see of it, as its reviewer has seen it; null: none. */
  logo_id: nullable(text),
  status: choice(...clientStatuses),
  /** Why it was rejected or suspended, or why its last change was rejected. */
  status_reason: nullable(text),
  /** What its owner says about the revision that waits; null once it is decided. */
  note_to_reviewer: nullable(text),
  /** When a user asked for the review of one that came by itself; null before, and once it is decided. */
  review_asked_at: nullable(integer),
  /** Counts edits. An approval names the one that was read. */
  revision: integer,
  /** The reviewed fields that its owner wants different; the approved ones stay in effect until then. */
  pending_change: nullable(jsonObject<Partial<ReviewedFields>>()),
  /** The audit event of the last change. Every change replaces it, which makes it a compare-and-swap. */
  event_id: id<EventId>(),
  created_at: integer,
  updated_at: integer,
});

export const SecretRow = row('client_secrets', {
  secret_id: id<SecretId>(),
  client_id: id<ClientId>(),
  secret_hash: text,
  created_at: integer,
  /** Set once it has been retired. */
  expires_at: nullable(integer),
  /** What its owner calls it. */
  name: nullable(text),
  /** Its end; null for one of an earlier version. */
  last_four: nullable(text),
  /** To the hour; null if it was not used since this is recorded. */
  last_used_at: nullable(integer),
});
export type ClientSecret = Readonly<Omit<RowOf<typeof SecretRow>, 'client_id'>>;

/** A registered client. It is shared between requests by the directory. A public client has no secrets. */
export type Client = Readonly<RowOf<typeof ClientRow>> & { readonly secrets: readonly ClientSecret[] };

/** As its owner wants it: with the pending change. */
export const proposalOf = (client: Client): Client => ({ ...client, ...client.pending_change });

export const pick = <Key extends keyof Client>(client: Pick<Client, Key>, fields: readonly Key[]) =>
  Object.fromEntries(fields.map((field) => [field, client[field]])) as Pick<Client, Key>;

/** As the audit log keeps them: of keys what they are compared by, since ten of them are longer than an entry. */
export const asLogged = (fields: Partial<ReviewedFields>): Readonly<Record<string, unknown>> =>
  fields.jwks ? { ...fields, jwks: describeKeys(fields.jwks) } : fields;

/**
 * Whether a reviewer at a page has to choose the consent policy. Skipping is meant for first-party clients; one that a
 * user registered belongs to a third party, also once that user is deleted.
 */
export const needsConsentChoice = ({ is_first_party }: Client): boolean => !is_first_party;

/** Whether its edit needs a decision. That of a suspended client is decided once the client is reinstated. */
export const hasPendingChange = ({ status, pending_change }: Pick<Client, 'status' | 'pending_change'>): boolean =>
  status === 'approved' && pending_change !== null;

export const needsReview = (client: Pick<Client, 'status' | 'pending_change'>): boolean =>
  client.status === 'pending_review' || hasPendingChange(client);

/**
 * Whether a text may be a client_id at all. Checked before the store is read: PostgreSQL refuses a NUL in a text with an
 * error, and a name of 60 KB should not become a cache key.
 */
export const isClientId = (text: string): boolean => /^[\w-][\w.-]{0,63}$/.test(text) || isMetadataUrl(text);

/** Whether one that came from another product can have the client_id that it had there. */
export const isForeignClientId = (text: string): boolean => isClientId(text) && !isMetadataUrl(text) && !isOwnId(text);

/** A client as administrators read it. */
export const reviewedRecord = ({ secrets: _, event_id: __, is_first_party: ___, ...record }: Client) => record;
export type ReviewedRecord = ReturnType<typeof reviewedRecord>;
