import type { Deps as WebhookDeps } from '../webhooks/deps.ts';
import type { PasswordHasher } from './credentials/password-hash.ts';
import type { ProviderConfig } from './credentials/providers.ts';
import type { AuthorizationRequests, Grants } from './ports.ts';

export type Deps = WebhookDeps & {
  readonly config: ProviderConfig;
  /** Hashes passwords, a limited number at once. */
  readonly passwords: PasswordHasher;
  readonly grants: Grants;
  readonly authorizationRequests: AuthorizationRequests;
};

/** Ends sessions with their grants and mails about it. */
export type RevocationDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'mail' | 'grants'>;

/** Completes a sign-in. */
export type SignInDeps = RevocationDeps & Pick<Deps, 'authorizationRequests'>;
