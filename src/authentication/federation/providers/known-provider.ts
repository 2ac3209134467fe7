/** An OpenID Connect issuer that ships with Signet and waits for credentials. */
export type KnownProvider = {
  /** In its addresses: `/auth/{id}/login`. */
  readonly id: string;
  /** On its button. */
  readonly label: string;
  /** OpenID Connect Discovery §3: its document is at `{issuer}/.well-known/openid-configuration`. */
  readonly issuer: string;
  /** The `prompt` that makes it ask which account is meant; `login` where it has none (OIDC Core §3.1.2.1). */
  readonly promptToChoose?: string;
  /** It sends no `auth_time`, so it confirms only somebody who has no other way; see ../auth-time.ts. */
  readonly saysNoTime?: boolean;
};
