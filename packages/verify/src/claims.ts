/** The claims of an access token that was checked (RFC 9068 §2.2). */
export type AccessTokenClaims = {
  /** The issuer: always the one that the verifier was made for. */
  iss: string;
  /** The user's ID. */
  sub: string;
  /** For which client or API it was issued: one of the verifier's audiences is among them. */
  aud: string | string[];
  /** The client that obtained the token. */
  client_id: string;
  /** Scope names, separated by spaces. With introspection, those that the client may have now. */
  scope: string;
  /** Unix seconds. */
  iat: number;
  /** Unix seconds. */
  exp: number;
  /** Unique to this token. */
  jti: string;
  /** The session from which it was issued. */
  sid?: string;
  /** When the user signed in, in Unix seconds. */
  auth_time?: number;
  /** How well the user was authenticated, such as `urn:signet:acr:2fa`. */
  acr?: string;
  /** How the user was authenticated, such as `pwd`, `otp`, `hwk` (RFC 8176). */
  amr?: string[];
  /** Where a list says whether it is revoked (draft-ietf-oauth-status-list). */
  status?: { status_list?: { idx: number; uri: string } };
  [name: string]: unknown;
};
