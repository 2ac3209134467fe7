import { auditEvent } from '../audit/audit.ts';
import { eventWasKept } from '../audit/store.ts';
import { now } from '../clock.ts';
import { UniqueViolation } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { mailTo } from '../mail/mail-to.ts';
import type { User } from '../users/user.ts';
import { lockWaysIn } from '../users/ways-in.ts';
import { refuseIdentity, type Trip } from './refuse-identity.ts';
import { findIdentity, insertIdentity, mayLink, mayLinkByEmail } from './store.ts';
import type { UpstreamAccount } from './upstream-account.ts';

export type Link = {
  user: Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;
  account: UpstreamAccount;
  trip: Trip;
  /** The address that alone says who it is: then it must still be theirs and proved when the link is made. */
  byEmail?: string;
};

/**
 * Lets an identity open an account from now on, and tells its owner.
 * @returns false if nothing was linked: the person may not sign in, has another identity of that issuer, or the address
 * is no longer theirs. True also if it was linked with them before.
 */
export async function linkIdentity(deps: Deps, { user, account, trip, byEmail }: Link): Promise<boolean> {
  const at = now(deps);
  const { user_id } = user;
  const { issuer, subject, email } = account;
  const { provider, address } = trip;
  const { event_id, statement } = auditEvent(
    {
      action: 'identity.linked',
      actor: `user:${user_id}`,
      target: user_id,
      reason: byEmail === undefined ? 'by_person' : 'by_email',
      after: { provider: provider.id, issuer, subject },
      address,
      onlyIf: byEmail === undefined ? mayLink(user_id, issuer) : mayLinkByEmail(user_id, issuer, byEmail),
    },
    at,
  );
  const identity = { issuer, subject, user_id, provider: provider.id, email: email ?? null };
  try {
    // Event first: its condition decides, and the link and the mail follow it.
    await deps.db.batch([
      lockWaysIn(user_id),
      statement,
      insertIdentity(identity, event_id, at),
      ...mailTo(
        deps,
        user,
        'provider_linked',
        { provider: provider.label, email: email ?? subject },
        eventWasKept(event_id),
      ),
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
  }
  return (await findIdentity(deps.db, issuer, subject))?.user_id === user_id;
}

/**
 * Links what a signed-in person has shown to be theirs upstream. Its address needs no proof there: they have come from
 * the account, and came back to it.
 * @throws {RequestError} `invalid_state` if it is somebody else's, or the person has another one of that issuer.
 */
export async function linkByPerson(deps: Deps, link: Omit<Link, 'byEmail'>): Promise<void> {
  const { account, trip, user } = link;
  const { user_id } = user;
  if (await linkIdentity(deps, link)) return;
  const owner = await findIdentity(deps.db, account.issuer, account.subject);
  throw await refuseIdentity(deps, trip, {
    code: 'invalid_state',
    say: owner ? 'federation.linked_elsewhere' : 'federation.linked_already',
    reason: owner ? 'linked_elsewhere' : 'linked_already',
    user_id,
  });
}
