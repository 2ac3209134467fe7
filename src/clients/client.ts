import type { Scope } from './scopes.ts';
import type { Algorithm } from './signing-algorithm.ts';

export const clientTypes = ['public', 'confidential'] as const;
export type ClientType = (typeof clientTypes)[number];

export const clientStatuses = ['pending_review', 'approved', 'rejected', 'suspended'] as const;
export type ClientStatus = (typeof clientStatuses)[number];

/** Whether people are asked before this client learns about them. An administrator decides it with the approval. */
export const consentPolicies = ['skip', 'required'] as const;
export type ConsentPolicy = (typeof consentPolicies)[number];

/** What an administrator reviews. An approved client's edits to these wait in `pending_change`. */
export type ReviewedFields = {
  readonly name: string;
  readonly redirect_uris: readonly string[];
  readonly allowed_scopes: readonly Scope[];
  readonly logo_url: string | null;
  readonly homepage_url: string | null;
  readonly id_token_signed_response_alg: Algorithm; // the access token follows it, for libraries without EdDSA (decisions §4)
};

/** The one list of them, in the order in which a reviewer reads them. The compiler misses a field that is not here. */
const inOrder: Readonly<Record<keyof ReviewedFields, true>> = {
  name: true,
  redirect_uris: true,
  allowed_scopes: true,
  logo_url: true,
  homepage_url: true,
  id_token_signed_response_alg: true,
};
export const reviewedFields = Object.keys(inOrder) as readonly (keyof ReviewedFields)[];

const onlyReviewed = (one: ReviewedFields) =>
  Object.fromEntries(reviewedFields.map((field) => [field, one[field]])) as ReviewedFields;

/**
 * Whether a reviewer at a page has to choose the consent policy. Skipping is meant for first-party clients; one that a
 * person registered is somebody else's product, also once that person is gone.
 */
export const needsConsentChoice = ({ is_first_party }: Client): boolean => !is_first_party;

/** As it serves: without the change that waits. */
export const approvedFields = (client: Client): ReviewedFields => onlyReviewed(client);

/** As its owner wants it: with the change that waits. */
export const proposedFields = (client: Client): ReviewedFields => onlyReviewed({ ...client, ...client.pending_change });

/** A registered client. Times are Unix seconds. Shared between requests by the directory, so nobody writes to it. */
export type Client = ReviewedFields & {
  readonly client_id: string;
  /** Null for a first-party client, and once the owner's account is deleted: then only administrators may change it. */
  readonly owner_user_id: string | null;
  /** Registered by the operator, on the command line, and so without an owner from the start. */
  readonly is_first_party: boolean;
  readonly client_type: ClientType;
  /** Seconds, 0 to 60, in which a lost refresh response may be asked for again (decisions §7). */
  readonly refresh_retry_window: number;
  readonly consent: ConsentPolicy;
  readonly status: ClientStatus;
  /** Why it was rejected or suspended, or why its last change was turned down. */
  readonly status_reason: string | null;
  /** Counts edits. An approval names the one that was read. */
  readonly revision: number;
  /** The reviewed fields that its owner wants different; the reviewed ones serve until then. */
  readonly pending_change: Partial<ReviewedFields> | null;
  /** The audit event that made the client what it is. Every change replaces it, which makes it a compare-and-swap. */
  readonly event_id: string;
  readonly created_at: number;
  readonly updated_at: number;
  /** Digests only. Empty for a public client. */
  readonly secrets: readonly ClientSecret[];
};

/** Somebody has to decide about its edit. That of a suspended client is decided once the client is reinstated. */
export const hasPendingChange = ({ status, pending_change }: Pick<Client, 'status' | 'pending_change'>): boolean =>
  status === 'approved' && pending_change !== null;

/** An administrator has to decide about it: it is new, or a change of it waits. */
export const needsReview = (client: Pick<Client, 'status' | 'pending_change'>): boolean =>
  client.status === 'pending_review' || hasPendingChange(client);

/** `expires_at` is set once it has been retired. Nothing of the secret itself is kept, not even its last letters. */
export type ClientSecret = {
  readonly secret_id: string;
  readonly secret_hash: string;
  readonly created_at: number;
  readonly expires_at: number | null;
};

/**
 * Whether a text may be a client_id at all. Asked before the store is: PostgreSQL refuses a NUL in a text with an
 * error, and a name of 60 KB should not become a cache key.
 */
export const isClientId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

/** A client as its owner reads it (decisions §10): a list of what may be told, so a new column stays private. */
export const clientRecord = (client: Client) => ({
  client_id: client.client_id,
  name: client.name,
  client_type: client.client_type,
  redirect_uris: client.redirect_uris,
  allowed_scopes: client.allowed_scopes,
  logo_url: client.logo_url,
  homepage_url: client.homepage_url,
  id_token_signed_response_alg: client.id_token_signed_response_alg,
  status: client.status,
  status_reason: client.status_reason,
  revision: client.revision,
  pending_change: client.pending_change,
  created_at: client.created_at,
  updated_at: client.updated_at,
});

export type ClientRecord = ReturnType<typeof clientRecord>;

/** What only administrators decide and read comes with it. */
export const reviewedRecord = (client: Client) => ({
  ...clientRecord(client),
  owner_user_id: client.owner_user_id,
  consent: client.consent,
  refresh_retry_window: client.refresh_retry_window,
});

export type ReviewedRecord = ReturnType<typeof reviewedRecord>;
