import { lockUser, type User } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { evenIfOvertaken, wasOvertaken } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange } from '../../platform/db/change.ts';
import type { MailDeps, PlacementDeps } from '../../platform/deps.ts';
import { invalidState, notFound, refusal, tookTooLong } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import {
  claimOfIdentity,
  deleteIdentity,
  findIdentity,
  type Identity,
  insertIdentity,
  listIdentities,
  mayLink,
  mayLinkByEmail,
} from '../credentials/identities.store.ts';
import { hasAnotherSignInMethod, limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { endSecondSteps } from '../sessions/second-steps.ts';
import { changeOwnClaims, type Owner, sessionRefusal } from '../sessions/session.ts';
import { isCurrentSession, type Session, type SessionRef } from '../sessions/store.ts';
import { type Confirmation, linkConfirmation } from './confirmation.ts';
import { type CallbackContext, refuseIdentity } from './refuse-identity.ts';
import { nameOf, type UpstreamAccount } from './upstream-account.ts';

type Link = {
  user: Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;
  account: UpstreamAccount;
  context: CallbackContext;
  /** The user was found by this address alone: it must still be theirs, and verified, when the link is made. */
  byEmail?: string;
  /** The session that asks for it, which must still be current. */
  session?: SessionRef;
};

/**
 * Links an upstream account, which opens the user's account from now on, and notifies the user.
 * @returns whether they are linked, also if they were before. False if the user is disabled, has another identity of that
 * issuer, or no longer has the address.
 * @throws {RequestError} `temporarily_unavailable` if it took too long.
 */
export async function linkIdentity(
  deps: MailDeps & PlacementDeps,
  { user, account, context, byEmail, session }: Link,
): Promise<boolean> {
  const { user_id } = user;
  if (session) await limitSecurityChanges(deps, user_id);
  const at = now(deps);
  const { issuer, subject, email } = account;
  const { provider, address } = context;
  const reason = byEmail === undefined ? 'by_person' : 'by_email';
  const after = { provider: provider.id, issuer, subject };
  const event = {
    action: 'identity.linked',
    actor: `user:${user_id}`,
    target: user_id,
    reason,
    after,
    address,
  } as const;
  const identity = { issuer, subject, user_id, provider: provider.id, email: email ?? null };
  const claims = { taken: [claimOfIdentity(deps.db, issuer, subject)] };
  const link = () =>
    deps.claims.holding(user_id, claims, (claim) =>
      deps.db.of(user_id).change({
        lock: lockUser(user_id),
        require: {
          session: session && isCurrentSession(session),
          user: byEmail === undefined ? mayLink(user_id, issuer) : mayLinkByEmail(user_id, issuer, byEmail),
        },
        run: {
          claim,
          identity: mayConflict(insertIdentity(identity, at, account.emailVerified)),
          mails: mailTo(deps, user, 'provider_linked', { provider: provider.label, email: email ?? subject }),
          event: auditEvent(event, at).statement,
        },
      }),
    );
  const done = await evenIfOvertaken(link);
  // Also if it was refused, the identity may have been linked with the same user meanwhile.
  const isLinked = (await findIdentity(deps, issuer, subject))?.user_id === user_id;
  if (!isLinked && wasOvertaken(done)) throw tookTooLong();
  return isLinked;
}

/**
 * Links an upstream account for a user who is signed in, once they have confirmed which one it is: the browser may be
 * signed in there as another user. Its address need not be verified, since the user has just signed in there.
 * @returns the question to confirm; undefined when it is linked.
 * @throws {RequestError} `invalid_state` if it is linked with another user, or the user has another one of that issuer;
 * `login_required` if the session has ended.
 */
export async function linkBySignedInUser(
  deps: MailDeps & PlacementDeps,
  { user, agreement, ...link }: Pick<Link, 'account' | 'context'> & { user: Session; agreement?: string },
): Promise<Confirmation | undefined> {
  const { account, context } = link;
  const { user_id } = user;
  const refuse = async (reason: 'linked_elsewhere' | 'linked_already') => {
    throw await refuseIdentity(deps, context, { code: 'invalid_state', reason, user_id });
  };
  const owner = await findIdentity(deps, account.issuer, account.subject);
  if (owner) return owner.user_id === user_id ? undefined : refuse('linked_elsewhere');
  const identities = await listIdentities(deps.db, user_id);
  if (identities.some(({ issuer }) => issuer === account.issuer)) return refuse('linked_already');
  const confirmation = linkConfirmation(user, nameOf(account));
  if (confirmation.agreement !== agreement) return confirmation;
  if (await linkIdentity(deps, { ...link, user, session: user })) return undefined;
  if (!(await deps.db.of(user_id).holds(isCurrentSession(user)))) throw await sessionRefusal(deps, user);
  return refuse((await findIdentity(deps, account.issuer, account.subject)) ? 'linked_elsewhere' : 'linked_already');
}

/**
 * Removes the user's identity at a provider, and notifies them.
 * @param provider_id of a configured provider, or the one that the identity was linked under.
 * @throws {RequestError} `not_found`; `login_required` if the session has ended; `invalid_state` for the last way to sign
 * in.
 */
export async function unlinkIdentity(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'mail' | 'providers' | 'claims'>,
  owner: Owner,
  provider_id: string,
): Promise<void> {
  const { user_id } = owner.session;
  const configured = await deps.providers.read();
  const provider = configured.find(provider_id);
  const identities = await listIdentities(deps.db, user_id);
  // An ID may mean another issuer than when the identity was linked under it: then the old one is meant that opens nothing any more.
  const isGone = ({ issuer }: Identity) => configured.ofIssuer(issuer) === undefined;
  const identity =
    identities.find(({ issuer }) => issuer === provider?.issuer) ??
    identities.find((one) => one.provider === provider_id && (!provider || isGone(one)));
  if (!identity) throw notFound();

  const { issuer, subject } = identity;
  const opens = configured.ofIssuer(issuer) !== undefined;
  const claims = { givenUp: [claimOfIdentity(deps.db, issuer, subject)] };
  const failed = await changeOwnClaims(deps, owner, claims, {
    action: 'identity.unlinked',
    before: { provider: provider_id, issuer, subject },
    mail: 'provider_unlinked',
    values: { provider: provider?.issuer === issuer ? provider.label : provider_id },
    // An identity whose issuer is no longer configured is no way to sign in, so it may always be removed.
    require: { anotherMethod: opens ? hasAnotherSignInMethod(deps.config, user_id) : undefined },
    run: {
      identity: mustChange(deleteIdentity(user_id, issuer)),
      secondSteps: endSecondSteps(user_id, now(deps)),
    },
  });
  if (!failed) return;
  const isThere = (await listIdentities(deps.db, user_id)).some((one) => one.issuer === issuer);
  if (!isThere) throw notFound();
  if (failed === 'claim') throw invalidState('changed');
  throw refusal(
    'invalid_state',
    { key: 'federation.last_sign_in_method' },
    {
      details: { current_status: 'last_way_in' },
      exit: { path: '/account/security/providers', label: 'error.to_providers' },
    },
  );
}
