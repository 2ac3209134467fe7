import { failUnless } from '../../accounts/one-time-links/store.ts';
import { lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../clients/deps.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import { notFound } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { deleteConsent } from '../consents/store.ts';
import { isConnected } from '../grants/grant-lists.store.ts';
import { revokeGrantsOfUserToClient } from '../grants/store.ts';

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
      deleteConsent(user_id, client_id),
      statement,
      ...mailTo(deps, session, 'app_disconnected', { app: client.name }),
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw notFound();
    throw error;
  }
}
