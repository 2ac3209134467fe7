import { type Actor, auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { findGrant, type Grant, grantEndedBy, type RevocationReason, revokeGrant } from './grants.store.ts';

type Ending = {
  grant: Pick<Grant, 'grant_id' | 'user_id' | 'client_id' | 'session_id'>;
  reason: RevocationReason;
  actor: Actor;
  address?: string;
};

/** Ends a grant with all its tokens, and says so in the audit log if it was this call that ended it. */
export async function endGrant(deps: Pick<Deps, 'db' | 'clock'>, ending: Ending): Promise<void> {
  const at = now(deps);
  const { grant_id, user_id, client_id, session_id } = ending.grant;
  const { event_id, statement } = auditEvent(
    {
      action: 'grant.revoked',
      actor: ending.actor,
      target: grant_id,
      reason: ending.reason,
      after: { user_id, client_id, session_id },
      address: ending.address,
      onlyIf: (id) => grantEndedBy(grant_id, id),
    },
    at,
  );
  await deps.db.batch([revokeGrant(grant_id, ending.reason, event_id, at), statement]);
}

/**
 * An administrator ends a grant with all its tokens.
 * @throws {RequestError} `not_found` for one that is unknown or has ended.
 */
export async function endGrantOf(deps: Pick<Deps, 'db' | 'clock'>, caller: Caller, grant_id: string): Promise<void> {
  const grant = await findGrant(deps.db, grant_id);
  if (!grant || grant.revoked_at !== null) throw notFound();
  await endGrant(deps, { grant, reason: 'administrator', ...caller });
}
