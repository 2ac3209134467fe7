import type { Deps as PlatformDeps } from '../platform/deps.ts';
import type { AuditLog } from './audit-log.ts';
import type { Witness } from './witness.ts';

export type Deps = PlatformDeps & {
  /** The newest place of the audit log, kept out of reach of those who can write the database. */
  readonly witness: Witness;
  /** Seals and checks the audit log. */
  readonly auditLog: AuditLog;
};
