import { type Acr, oneFactor, twoFactors } from '../authentication/sessions/authentication.ts';

// What a client may be, and may be registered for, one list for each choice.

/** Whether it can keep a secret (OAuth 2.1 §2.1), not whether it has one. */
export const clientTypes = ['public', 'confidential'] as const;
export type ClientType = (typeof clientTypes)[number];

export const clientStatuses = ['pending_review', 'approved', 'rejected', 'suspended'] as const;
export type ClientStatus = (typeof clientStatuses)[number];

/** How a client may come without an owner: by a document at the URL that is its client_id, or by RFC 7591. */
export const clientOrigins = ['metadata_document', 'registration'] as const;
export type ClientOrigin = (typeof clientOrigins)[number];

/** Whether users must consent before this client receives their data. An administrator decides it with the approval. */
export const consentPolicies = ['skip', 'required'] as const;
export type ConsentPolicy = (typeof consentPolicies)[number];

/** What a client may be held to. */
export const profiles = ['fapi2'] as const;
export type Profile = (typeof profiles)[number];

/** What our tokens are signed with. EdDSA is Ed25519 (RFC 8037); RS256 is for relying parties whose library lacks it. */
export const signingAlgorithms = ['EdDSA', 'RS256'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** What runs the client: a server, a page in a browser, or an app on a device (RFC 8252). */
export const applicationTypes = ['web', 'spa', 'native'] as const;

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

/** Why there is no picture of a client. */
export const logoProblems = ['internal', 'unreachable', 'redirect', 'status', 'slow', 'large', 'type', 'size'] as const;
export type LogoProblem = (typeof logoProblems)[number];
