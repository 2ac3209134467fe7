import type { User } from '../../accounts/user.ts';
import { auditEvent } from '../../audit/audit.ts';
import { eventWasKept } from '../../audit/store.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import { notFound, refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { deleteIdentity, isLinked, listIdentities } from '../credentials/identities.store.ts';
import { lockSignInMethods, unlessLastSignInMethod } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { failUnlessHeld, requireCurrentSession, type SessionRef } from '../sessions/rotate-session-secret.ts';

type Unlink = {
  user: Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;
  /** The provider's id: one of today, or the one that an identity was linked under. */
  provider_id: string;
  address: string;
  /** The session that asks for it, which must hold until it is done. */
  held: SessionRef;
};

/**
 * Takes the person's identity at a provider away, and tells them.
 * @throws {RequestError} `not_found`; `login_required` if the session has ended meanwhile; `invalid_state` for the last way to sign in.
 */
export async function unlinkIdentity(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'mail'>,
  { user, provider_id, address, held }: Unlink,
): Promise<void> {
  const { user_id } = user;
  const provider = deps.config.providers.find(({ id }) => id === provider_id);
  const identities = await listIdentities(deps.db, user_id);
  const identity = identities.find((one) => (provider ? one.issuer === provider.issuer : one.provider === provider_id));
  if (!identity) throw notFound();

  const at = now(deps);
  const { issuer, subject } = identity;
  const opens = deps.config.providers.some((one) => one.issuer === issuer);
  const { event_id, statement } = auditEvent(
    {
      action: 'identity.unlinked',
      actor: `user:${user_id}`,
      target: user_id,
      before: { provider: provider_id, issuer, subject },
      address,
      // What opens nothing any more, because nobody configures its issuer, may always go.
      onlyIf: opens
        ? unlessLastSignInMethod(deps.config, user_id, isLinked(user_id, issuer))
        : isLinked(user_id, issuer),
    },
    at,
  );
  const batch = deps.db.batch([
    lockSignInMethods(user_id),
    failUnlessHeld(held, event_id, at),
    statement,
    deleteIdentity(user_id, issuer, event_id),
    // Half-finished sign-ins by what is gone end with it.
    deletePendingSignInsOfUser(user_id),
    ...mailTo(deps, user, 'provider_unlinked', { provider: provider?.label ?? provider_id }, eventWasKept(event_id)),
  ]);
  const results = await batch.catch(async (error: unknown) => {
    if (error instanceof UniqueViolation) await requireCurrentSession(deps, held);
    throw error;
  });
  if (results[3]?.changes === 1) return;
  const isThere = (await listIdentities(deps.db, user_id)).some((one) => one.issuer === issuer);
  if (!isThere) throw notFound();
  throw refusal(
    'invalid_state',
    { key: 'federation.last_way_in' },
    {
      details: { current_status: 'last_way_in' },
      back: '/account/security/providers',
    },
  );
}
