import { now } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { deliveriesOf } from '../webhooks/manage-webhook.ts';
import { AuditLogTampered, sealAuditLog } from './chain.ts';
import type { Deps } from './deps.ts';

/** Seconds between two lines about the same loss. */
const toldAgainAfterSeconds = 3600;
const told = new WeakMap<Db, number>();

/**
 * Seals what is new, with its webhook deliveries, and keeps the newest place outside the database. While the end of the
 * chain is lost it seals nothing, and says so once an hour.
 * @throws {AuditLogTampered} when nothing can be sealed; it has been logged.
 */
export async function sealAndCheckpoint(deps: Deps): Promise<void> {
  try {
    await sealAuditLog(deps, deliveriesOf(deps));
  } catch (error) {
    if (error instanceof AuditLogTampered) tell(deps, error);
    throw error;
  }
  if (told.delete(deps.db)) deps.log.warn('the audit log is sealed again');
  await deps.witness.keep();
}

function tell(deps: Deps, { loss }: AuditLogTampered): void {
  const last = told.get(deps.db);
  if (last !== undefined && now(deps) - last < toldAgainAfterSeconds) return;
  told.set(deps.db, now(deps));
  deps.log.error(
    { ...loss, file: deps.witness.path },
    `${loss.why === 'file' ? 'the file that keeps the newest place of the audit log cannot be read' : 'the end of the audit log is lost'}: no event is sealed and no webhook is sent until an operator has looked. Run on this machine, with the settings of this server: signet audit verify`,
  );
}
