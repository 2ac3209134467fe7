import { auditEvent } from '../../audit/audit.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { findConsent, saveConsent } from '../consents/store.ts';
import { awaitsConsent, markConsented, type PendingRequest } from './store.ts';

/** Remembers that a person allows a client the scope it waits for, on top of what was allowed before. */
export async function giveConsent(deps: StoreDeps, session: Session, pending: PendingRequest): Promise<void> {
  const at = now(deps);
  const { client_id, scope } = pending.parameters;
  const before = await findConsent(deps.db, session.user_id, client_id);
  const allowed = [...new Set([...(before?.split(' ') ?? []), ...scope.split(' ')])].join(' ');
  const { statement } = auditEvent(
    {
      action: 'consent.given',
      actor: `user:${session.user_id}`,
      target: client_id,
      after: { user_id: session.user_id, scope: allowed },
      onlyIf: awaitsConsent(pending.request_id, session.user_id),
    },
    at,
  );
  await deps.db.batch([
    statement, // before the answer is marked: the same answer again is no other event
    saveConsent(session.user_id, client_id, allowed, at),
    markConsented(pending.request_id, session.user_id),
  ]);
}
