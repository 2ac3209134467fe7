import type { Deps as ApiDeps } from '../apis/deps.ts';
import type { SecretUses } from '../platform/secret-uses.ts';
import type { TtlCache } from '../platform/ttl-cache.ts';
import type { ServiceCredential } from './service-credentials/service-credential.ts';

export type Deps = ApiDeps & {
  /** Service credentials, at most a second old. */
  readonly services: TtlCache<ServiceCredential | undefined>;
  /** When their secrets were used. */
  readonly serviceSecretUses: SecretUses;
};
