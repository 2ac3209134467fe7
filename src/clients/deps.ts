import type { Deps as EntitlementDeps } from '../entitlements/deps.ts';
import type { ClientDirectory } from './client-directory.ts';

export type Deps = EntitlementDeps & {
  /** Registered clients, at most a second old. */
  readonly clients: ClientDirectory;
};
