import type { ApiId } from '../platform/ids.ts';

/** A permission at one API. Its name is of no other API and of no scope of ours, so a scope says which API it is for. */
export type ApiScope = {
  readonly name: string;
  /** One sentence for the users who are asked for it, by locale; at least one. */
  readonly descriptions: Readonly<Record<string, string>>;
  readonly created_at: number;
};

/** What access tokens for an API carry so that it knows revoked ones: nothing, or their place in a list (draft-ietf-oauth-status-list). */
export const tokenStatuses = ['none', 'list'] as const;
export type TokenStatus = (typeof tokenStatuses)[number];

/** A resource server (RFC 6749 §1.1) that is registered here. */
export type Api = {
  readonly api_id: ApiId;
  /** An absolute URI without a fragment (RFC 8707 §2): `aud` of tokens for it, character for character. */
  readonly identifier: string;
  readonly name: string;
  readonly description: string | null;
  readonly token_status: TokenStatus;
  readonly created_at: number;
  /** Those that are not retired, in the order in which they were added. */
  readonly scopes: readonly ApiScope[];
};

/** Two spellings of one URI are the same API: `https://api.example.com` and `https://API.example.com/`. */
export const comparableIdentifier = (identifier: string): string =>
  URL.canParse(identifier) ? new URL(identifier).href : identifier;
