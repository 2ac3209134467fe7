import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import { forgetConsent } from '../consent/store.ts';
import { UniqueViolation } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { mailTo } from '../mail/mail-to.ts';
import { isConnected } from '../oauth/grant-lists.store.ts';
import { revokeGrantsOfUserToClient } from '../oauth/grants.store.ts';
import { failUnless } from '../one-time-links/store.ts';
import type { Session } from '../sessions/session.ts';
import { lockUser } from '../users/store.ts';

/** Whose connection ends, and where they ask from. */
type Disconnection = { session: Session; client_id: string; address: string };

/**
 * Takes from a client all that a person has let it have: every grant ends at once, and the next time it asks anew. The
 * person gets one mail about it, however many requests say the same.
 * @throws {RequestError} `not_found` for a client that is unknown, or not connected to this person, both alike.
 */
export async function disconnectApp(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'clients' | 'mail'>,
  { session, client_id, address }: Disconnection,
): Promise<void> {
  const { user_id } = session;
  const client = await deps.clients.find(client_id);
  if (!client) throw notFound();
  const at = now(deps);
  const { event_id, statement } = auditEvent(
    {
      action: 'app.disconnected',
      actor: `user:${user_id}`,
      target: client_id,
      reason: 'user',
      after: { user_id },
      address,
    },
    at,
  );
  try {
    await deps.db.batch([
      lockUser(user_id), // of two requests for the same client one finds it connected
      failUnless(isConnected(user_id, client_id, at), event_id, at),
      ...revokeGrantsOfUserToClient(user_id, client_id, 'user', at),
      forgetConsent(user_id, client_id),
      statement,
      ...mailTo(deps, session, 'app_disconnected', { app: client.name }),
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw notFound();
    throw error;
  }
}
