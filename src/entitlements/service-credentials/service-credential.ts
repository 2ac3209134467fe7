import type { StoredSecret } from '../../platform/ids.ts';
import { isSeen } from '../../platform/text.ts';

/** What a back end may do by itself (decisions §12). */
export const permissions = ['entitlements:write', 'tokens:introspect'] as const;
export type Permission = (typeof permissions)[number];

/** Not a client: it is not registered, starts no sign-in, and client secrets are not accepted in its place. */
export type ServiceCredential = {
  readonly credential_id: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  /** Which products it may write entitlements of. */
  readonly products: readonly string[];
  readonly created_at: number;
  /** Set once it was retired, for good. */
  readonly retired_at: number | null;
  /** Digests only; two while one replaces another. */
  readonly secrets: readonly StoredSecret[];
};

/** What a product is called (decisions §12): 1 to 100 printable characters, spaces and commas among them. */
export const isProduct = (text: string): boolean =>
  text.length <= 200 && [...text].length <= 100 && /\S/.test(text) && isSeen(text);
export const isCredentialId = (text: string): boolean => /^svc_[\w-]{22}$/.test(text);

/** As administrators see it, never with a secret. Its id is the `client_id` of its HTTP Basic (decisions §12). */
export const credentialRecord = ({ credential_id, secrets: _, ...rest }: ServiceCredential) => ({
  client_id: credential_id,
  ...rest,
});
