import type { User } from '../../accounts/user.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import {
  findIdentity,
  insertIdentity,
  listIdentities,
  mayLink,
  mayLinkByEmail,
} from '../credentials/identities.store.ts';
import { limitSecurityChanges } from '../credentials/security-changes.ts';
import { lockSignInMethods } from '../credentials/sign-in-methods.ts';
import { isCurrentSession, type SessionRef, sessionRefusal } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { type Confirmation, linkConfirmation } from './confirmation.ts';
import { type CallbackContext, refuseIdentity } from './refuse-identity.ts';
import { nameOf, type UpstreamAccount } from './upstream-account.ts';

type Link = {
  user: Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;
  account: UpstreamAccount;
  context: CallbackContext;
  /** The address that alone says who it is: then it must still be theirs and proved when the link is made. */
  byEmail?: string;
  /** The session that asks for it, which must hold until it is done. */
  held?: SessionRef;
};

/**
 * Lets an identity open an account from now on, and tells its owner.
 * @returns false if nothing was linked: the person may not sign in, has another identity of that issuer, or the address
 * is no longer theirs. True also if it was linked with them before.
 */
export async function linkIdentity(deps: MailDeps, { user, account, context, byEmail, held }: Link): Promise<boolean> {
  const { user_id } = user;
  if (held) await limitSecurityChanges(deps, user_id);
  const at = now(deps);
  const { issuer, subject, email } = account;
  const { provider, address } = context;
  const { statement } = auditEvent(
    {
      action: 'identity.linked',
      actor: `user:${user_id}`,
      target: user_id,
      reason: byEmail === undefined ? 'by_person' : 'by_email',
      after: { provider: provider.id, issuer, subject },
      address,
    },
    at,
  );
  const identity = { issuer, subject, user_id, provider: provider.id, email: email ?? null };
  await deps.db.change({
    lock: lockSignInMethods(user_id),
    require: {
      session: held && isCurrentSession(held),
      user: byEmail === undefined ? mayLink(user_id, issuer) : mayLinkByEmail(user_id, issuer, byEmail),
    },
    run: {
      identity: mayConflict(insertIdentity(identity, at)),
      mails: mailTo(deps, user, 'provider_linked', { provider: provider.label, email: email ?? subject }),
      event: statement,
    },
  });
  // Whatever refused it, the identity may have been linked with the same user meanwhile.
  return (await findIdentity(deps.db, issuer, subject))?.user_id === user_id;
}

/**
 * Links what a signed-in person has shown to be theirs upstream, once they have seen which account there it is: the
 * browser may be signed in there as somebody else. Its address needs no proof: they came from the account, and back.
 * @returns the question, as long as nobody has agreed; undefined when it is linked.
 * @throws {RequestError} `invalid_state` if it is somebody else's, or the person has another one of that issuer;
 * `login_required` if the session has ended meanwhile.
 */
export async function linkBySignedInUser(
  deps: MailDeps,
  link: Omit<Link, 'byEmail' | 'held'> & { user: Session; agreement?: string },
): Promise<Confirmation | undefined> {
  const { account, context, user } = link;
  const { user_id } = user;
  const refuse = async (reason: 'linked_elsewhere' | 'linked_already') =>
    Promise.reject(
      await refuseIdentity(deps, context, {
        code: 'invalid_state',
        userMessage: `federation.${reason}`,
        reason,
        user_id,
      }),
    );
  const owner = await findIdentity(deps.db, account.issuer, account.subject);
  if (owner) return owner.user_id === user_id ? undefined : refuse('linked_elsewhere');
  const identities = await listIdentities(deps.db, user_id);
  if (identities.some(({ issuer }) => issuer === account.issuer)) return refuse('linked_already');
  const confirmation = linkConfirmation(user, nameOf(account));
  if (confirmation.agreement !== link.agreement) return confirmation;
  if (await linkIdentity(deps, { user, account, context, held: user })) return undefined;
  if (!(await deps.db.holds(isCurrentSession(user)))) throw await sessionRefusal(deps, user);
  return refuse((await findIdentity(deps.db, account.issuer, account.subject)) ? 'linked_elsewhere' : 'linked_already');
}
