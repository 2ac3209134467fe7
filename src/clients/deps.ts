import type { Deps as EntitlementDeps } from '../entitlements/deps.ts';
import type { SecretUses } from '../platform/secret-uses.ts';
import type { FailureRecorder } from './failures.ts';
import type { ClientDirectory } from './find-clients.ts';
import type { MetadataDocuments } from './from-outside/documents.ts';
import type { ReadRiskContext } from './risk-signals.ts';
import type { Scopes } from './scopes.ts';

export type Deps = EntitlementDeps & {
  /** Keeps what went wrong with a client for its owner. */
  readonly clientFailures: FailureRecorder;
  /** When secrets of clients were used. */
  readonly clientSecretUses: SecretUses;
  /** Reads what a client under review is compared with. */
  readonly riskContext: ReadRiskContext;
  /** Clients that a document at their client_id describes. */
  readonly metadataDocuments: MetadataDocuments;
  /** What clients may be allowed. */
  readonly scopes: Scopes;
  /** Registered clients, at most a second old. */
  readonly clients: ClientDirectory;
};
