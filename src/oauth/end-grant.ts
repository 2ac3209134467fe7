import { type Actor, auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { grantEndedBy, isOpenGrant, type RevocationReason, revokeGrant } from './grants.store.ts';

export type Ending = { grant_id: string; reason: RevocationReason; actor: Actor; address?: string };

/** Ends a grant with all its tokens, and says so in the audit log if it was this call that ended it. */
export async function endGrant(deps: Pick<Deps, 'db' | 'clock'>, ending: Ending): Promise<void> {
  const at = now(deps);
  const { event_id, statement } = auditEvent(
    {
      action: 'grant.revoked',
      actor: ending.actor,
      target: ending.grant_id,
      reason: ending.reason,
      address: ending.address,
      onlyIf: (id) => grantEndedBy(ending.grant_id, id),
    },
    at,
  );
  await deps.db.batch([revokeGrant(ending.grant_id, ending.reason, event_id, at), statement]);
}

/**
 * An administrator ends a grant with all its tokens.
 * @throws {RequestError} `not_found` for one that is unknown or has ended.
 */
export async function endGrantOf(deps: Pick<Deps, 'db' | 'clock'>, caller: Caller, grant_id: string): Promise<void> {
  if (!(await isOpenGrant(deps.db, grant_id))) throw notFound();
  await endGrant(deps, { grant_id, reason: 'administrator', ...caller });
}
