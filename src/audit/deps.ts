import type { Deps as PlatformDeps } from '../platform/deps.ts';
import type { AuditLog } from './audit-log.ts';
import type { Witnesses } from './witness.ts';

export type Deps = PlatformDeps & {
  /** The newest places of the audit log, kept out of reach of those who can write the database. */
  readonly witness: Witnesses;
  /** Seals and checks the audit log. */
  readonly auditLog: AuditLog;
};
