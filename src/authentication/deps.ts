import type { Deps as AuditDeps } from '../audit/deps.ts';
import type { PasswordHasher } from './credentials/password-hash.ts';
import type { ProviderConfig } from './credentials/providers.ts';

export type Deps = AuditDeps & {
  readonly config: ProviderConfig;
  /** Hashes passwords, a limited number at once. */
  readonly passwords: PasswordHasher;
};
