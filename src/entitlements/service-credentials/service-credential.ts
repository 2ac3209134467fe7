import { type DelegablePermission, delegablePermissions } from '../../accounts/permissions.ts';
import { type ApiId, isActiveSecret, type StoredSecret } from '../../platform/ids.ts';
import { isInSubnets, subnetList } from '../../platform/ip-address.ts';
import { isSeen } from '../../platform/text.ts';

/** What a back end may do by itself (decisions §12): what is its own, and of administration what it may be given. */
const ownPermissions = ['entitlements:write', 'tokens:introspect', 'signals:manage'] as const;
export type Permission = (typeof ownPermissions)[number] | DelegablePermission;
export const permissions: readonly Permission[] = [...ownPermissions, ...delegablePermissions];

/** Whether any of it is administration. */
export const isAdministrative = (permissions: readonly string[]): boolean =>
  delegablePermissions.some((one) => permissions.includes(one));

export type ServiceSecret = StoredSecret & {
  readonly secret_id: string;
  readonly created_at: number;
  /** Its end; null for one of an earlier version. */
  readonly last_four: string | null;
  /** To the hour; null if it was not used since this is recorded. */
  readonly last_used_at: number | null;
};

/** Not a client: it is not registered, starts no sign-in, and client secrets are not accepted in its place. */
export type ServiceCredential = {
  readonly credential_id: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  /** Which products it may write entitlements of. */
  readonly products: readonly string[];
  /** The API that introspects its own tokens by it, and no other's; null: none. */
  readonly api_id: ApiId | null;
  /** Addresses and subnets from which it is taken; none: from anywhere. */
  readonly addresses: readonly string[];
  readonly created_at: number;
  /** Null: never. One that administers always has an end. */
  readonly expires_at: number | null;
  /** Set once it was retired, for good. */
  readonly retired_at: number | null;
  /** Digests only; two while one replaces another. */
  readonly secrets: readonly ServiceSecret[];
};

/** What may be changed of it. */
export type CredentialTerms = Pick<ServiceCredential, 'permissions' | 'products' | 'addresses' | 'expires_at'>;

export const hasExpired = ({ expires_at }: Pick<ServiceCredential, 'expires_at'>, now: number): boolean =>
  expires_at !== null && expires_at <= now;

export const isTakenFrom = ({ addresses }: Pick<ServiceCredential, 'addresses'>, address: string): boolean =>
  addresses.length === 0 || isInSubnets(address, subnetList(addresses));

/** What a product is called (decisions §12): 1 to 100 printable characters, spaces and commas among them. */
export const isProduct = (text: string): boolean =>
  text.length <= 200 && [...text].length <= 100 && /\S/.test(text) && isSeen(text);
export const isCredentialId = (text: string): boolean => /^svc_[\w-]{22}$/.test(text);

/** As administrators see it, never with a secret. Its id is the `client_id` of its HTTP Basic (decisions §12). */
export const credentialRecord = (credential: ServiceCredential, at: number) => {
  const { credential_id, secrets, ...rest } = credential;
  const active = secrets.filter((secret) => isActiveSecret(secret, at));
  return {
    client_id: credential_id,
    ...rest,
    secrets: active.map(({ secret_hash: _, ...secret }) => secret) as readonly Omit<ServiceSecret, 'secret_hash'>[],
    last_used_at: lastUseOf(credential),
  };
};

export const lastUseOf = ({ secrets }: Pick<ServiceCredential, 'secrets'>): number | null =>
  secrets.reduce<number | null>((last, { last_used_at: at }) => (at !== null && at > (last ?? 0) ? at : last), null);
