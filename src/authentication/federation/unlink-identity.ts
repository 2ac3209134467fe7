import type { User } from '../../accounts/user.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { notFound, refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { deleteIdentity, listIdentities } from '../credentials/identities.store.ts';
import { hasAnotherSignInMethod, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { isCurrentSession, type SessionRef, sessionRefusal } from '../sessions/rotate-session-secret.ts';

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
  const { statement } = auditEvent(
    {
      action: 'identity.unlinked',
      actor: `user:${user_id}`,
      target: user_id,
      before: { provider: provider_id, issuer, subject },
      address,
    },
    at,
  );
  const done = await deps.db.change({
    lock: lockSignInMethods(user_id),
    require: {
      session: isCurrentSession(held),
      // An identity whose issuer is no longer configured is no way to sign in, so it may always go.
      anotherMethod: opens ? hasAnotherSignInMethod(deps.config, user_id) : undefined,
    },
    run: {
      identity: mustChange(deleteIdentity(user_id, issuer)),
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      mails: mailTo(deps, user, 'provider_unlinked', { provider: provider?.label ?? provider_id }),
      event: statement,
    },
  });
  if (done.ok) return;
  if (done.failed === 'session') throw await sessionRefusal(deps, held);
  const isThere = (await listIdentities(deps.db, user_id)).some((one) => one.issuer === issuer);
  if (!isThere) throw notFound();
  throw refusal(
    'invalid_state',
    { key: 'federation.last_sign_in_method' },
    {
      details: { current_status: 'last_way_in' },
      back: '/account/security/providers',
    },
  );
}
