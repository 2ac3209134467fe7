import { type Acr, oneFactor, twoFactors } from '../authentication/sessions/authentication.ts';
import {
  choice,
  flag,
  id,
  integer,
  jsonObject,
  jsonTexts,
  nullable,
  type RowOf,
  row,
  text,
  type ValuesOf,
} from '../platform/db/rows.ts';
import type { ClientId, EventId, SecretId, UserId } from '../platform/ids.ts';
import type { Scope } from './scopes.ts';

export const clientTypes = ['public', 'confidential'] as const;

export const clientStatuses = ['pending_review', 'approved', 'rejected', 'suspended'] as const;
export type ClientStatus = (typeof clientStatuses)[number];

/** Whether users must consent before this client receives their data. An administrator decides it with the approval. */
export const consentPolicies = ['skip', 'required'] as const;
export type ConsentPolicy = (typeof consentPolicies)[number];

/** EdDSA is Ed25519 (RFC 8037); RS256 is for relying parties whose library lacks it. */
export const algorithms = ['EdDSA', 'RS256'] as const;
export type Algorithm = (typeof algorithms)[number];

/** What runs the client: a server, a page in a browser, or an app on a device (RFC 8252). */
export const applicationTypes = ['web', 'spa', 'native'] as const;

/** OpenID Connect Core §9. */
export const authenticationMethods = ['client_secret_basic', 'client_secret_post', 'none'] as const;
export type AuthenticationMethod = (typeof authenticationMethods)[number];

/**
 * What an administrator reviews, in the order in which a reviewer reads it. An approved client's edits to these are
 * staged in `pending_change`.
 */
const reviewed = {
  name: text,
  application_type: choice(...applicationTypes),
  redirect_uris: jsonTexts(),
  post_logout_redirect_uris: jsonTexts(),
  backchannel_logout_uri: nullable(text),
  /** Logout tokens without `sid` are of no use to it (Back-Channel Logout 1.0 §2.2). */
  backchannel_logout_session_required: flag,
  allowed_scopes: jsonTexts<Scope>(),
  /** See {@link secondFactorOf}. */
  default_acr_values: jsonTexts<Acr>(),
  logo_url: nullable(text),
  homepage_url: nullable(text),
  /** Links of the consent page (RFC 7591 §2): how the client uses data of its users, and its terms of service. */
  policy_uri: nullable(text),
  tos_uri: nullable(text),
  /** Access tokens follow it, for libraries without EdDSA (decisions §4). */
  id_token_signed_response_alg: choice(...algorithms),
  /** Id tokens carry the claims of the granted scopes, for libraries that do not read userinfo. */
  claims_in_id_token: flag,
  /** The only method that the token endpoint accepts; null for either way to send a secret. */
  token_endpoint_auth_method: nullable(choice(...authenticationMethods)),
  /** What it uses to sign users in: an id of the catalogue. */
  library: nullable(text),
};
export type ReviewedFields = Readonly<ValuesOf<typeof reviewed>>;
export const reviewedFields = Object.keys(reviewed) as readonly (keyof ReviewedFields)[];

/** Times are Unix seconds. */
export const ClientRow = row('clients', {
  client_id: id<ClientId>(),
  /** Null for a first-party client, and once the owner's account is deleted: then only administrators may change it. */
  owner_user_id: nullable(id<UserId>()),
  /** Registered by an administrator or the operator, and so without an owner from the start. */
  is_first_party: flag,
  client_type: choice(...clientTypes),
  ...reviewed,
  /** Seconds, 0 to 60, in which a lost refresh response may be requested again (decisions §7). */
  refresh_retry_window: integer,
  consent: choice(...consentPolicies),
  status: choice(...clientStatuses),
  /** Why it was rejected or suspended, or why its last change was rejected. */
  status_reason: nullable(text),
  /** What its owner says about the revision that waits; null once it is decided. */
  note_to_reviewer: nullable(text),
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

/** What a client is registered to ask of its users beside a first factor. */
export const secondFactors = ['optional', 'preferred', 'required'] as const;
export type SecondFactor = (typeof secondFactors)[number];

/**
 * The classes are those that the client accepts, by preference. With two factors alone it requires them, whatever a request
 * says: requests pass through the user's browser. With one factor behind them it prefers them, which a request overrides
 * (OpenID Connect Dynamic Client Registration 1.0 §2; decision 7). Any other list asks for nothing.
 */
export function secondFactorOf(default_acr_values: readonly string[]): SecondFactor {
  if (default_acr_values[0] !== twoFactors) return 'optional';
  return default_acr_values.includes(oneFactor) ? 'preferred' : 'required';
}

/** The list by which a form or command registers it. */
export function acrValuesFor(secondFactor: SecondFactor): readonly Acr[] {
  if (secondFactor === 'optional') return [];
  return secondFactor === 'required' ? [twoFactors] : [twoFactors, oneFactor];
}

/** A registered client. It is shared between requests by the directory. A public client has no secrets. */
export type Client = Readonly<RowOf<typeof ClientRow>> & { readonly secrets: readonly ClientSecret[] };

/** As its owner wants it: with the pending change. */
export const proposalOf = (client: Client): Client => ({ ...client, ...client.pending_change });

export const pick = <Key extends keyof Client>(client: Pick<Client, Key>, fields: readonly Key[]) =>
  Object.fromEntries(fields.map((field) => [field, client[field]])) as Pick<Client, Key>;

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
export const isClientId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

/** A client as administrators read it. */
export const reviewedRecord = ({ secrets: _, event_id: __, is_first_party: ___, ...record }: Client) => record;
export type ReviewedRecord = ReturnType<typeof reviewedRecord>;
