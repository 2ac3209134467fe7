import { claimOfEmail, findUser, findUserByEmail, insertUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { followProvider } from '../../groups/follow-provider.ts';
import { wasOvertaken } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { Deps, LimitDeps, MailDeps, PlacementDeps } from '../../platform/deps.ts';
import { tookTooLong } from '../../platform/errors.ts';
import { newUserId } from '../../platform/ids.ts';
import {
  claimOfIdentity,
  findIdentity,
  insertIdentity,
  lastsUpstream,
  listIdentities,
  touchIdentity,
} from '../credentials/identities.store.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import { isTotpActive } from '../credentials/two-factor.store.ts';
import type { SignInDeps } from '../deps.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { type AccountResolution, type Confirmation, confirmationFor } from './confirmation.ts';
import { linkIdentity } from './link-identity.ts';
import { type CallbackContext, type IdentityRefusal, refuseIdentity } from './refuse-identity.ts';
import { isSameAddress, nameOf, type UpstreamAccount } from './upstream-account.ts';
import { authenticatedSince, type UpstreamAuthorization } from './upstream-authorization.ts';

type FederatedSignIn = {
  account: UpstreamAccount;
  context: CallbackContext;
  signInRequest: SignInRequest;
  authorization: UpstreamAuthorization;
  /** What the user has confirmed. */
  agreement?: string;
};

/**
 * Signs in the user with whom the upstream account is linked; otherwise the one who has the same address, verified on both
 * sides; otherwise a new user, if sign-up is open (decisions §9).
 * @returns a question, as long as the user has not confirmed what the sign-in would do.
 * @throws {RequestError} `access_denied`, with a sentence that says what to do.
 */
export async function signInWithIdentity(
  deps: SignInDeps & PlacementDeps,
  signIn: FederatedSignIn,
): Promise<Outcome | Confirmation> {
  const { account, signInRequest, authorization, agreement } = signIn;
  const resolution = await resolveAccount(deps, signIn);
  const confirmation = confirmationFor(resolution, signInRequest, authorization, nameOf(account));
  if (confirmation && confirmation.agreement !== agreement) return confirmation;
  return complete(deps, signIn, await applyResolution(deps, signIn, resolution));
}

/** @throws {RequestError} `access_denied` for an upstream account that is not linked with this user. */
export async function confirmWithIdentity(deps: SignInDeps, signIn: FederatedSignIn, user_id: string) {
  const { account, context } = signIn;
  const linked = await findIdentity(deps, account.issuer, account.subject);
  if (linked?.user_id !== user_id) {
    throw await accessDenied(deps, context, 'other_identity', user_id);
  }
  return complete(deps, signIn, user_id);
}

/** A provider is one factor, so a second may follow. */
async function complete(deps: SignInDeps, signIn: FederatedSignIn, user_id: string): Promise<Outcome> {
  const { account, context, signInRequest } = signIn;
  // Before there is a session: what a group allows must not outlast the membership by a sign-in.
  if (account.groups) await followProvider(deps, user_id, context.provider.id, account.groups);
  const used = touchIdentity({ ...account, user_id }, account, now(deps));
  const authTime = await authTimeOf(deps, signIn, user_id);
  const { issuer, subject, sid = null, issued_at } = account;
  const upstream = issued_at === undefined ? undefined : { issuer, subject, sid, issued_at };
  const proof = { user_id, methods: ['fed'], secondStep: false, authTime, upstream } as const;
  const outcome = await completeSignIn(deps, proof, signInRequest, [used]);
  if (!outcome && upstream && !(await deps.db.of(user_id).holds(lastsUpstream(user_id, upstream)))) {
    const refused = { code: 'invalid_request', reason: 'state_used', problem: 'signed_out_upstream', user_id } as const;
    throw await refuseIdentity(deps, context, refused);
  }
  if (!outcome) throw await accessDenied(deps, context, 'user_disabled', user_id);
  // `used` is committed with the session, and there is none yet.
  if (outcome.kind === 'second_factor') await deps.db.of(user_id).run(used);
  return outcome;
}

const accessDenied = (deps: LimitDeps, context: CallbackContext, reason: IdentityRefusal['reason'], user_id?: string) =>
  refuseIdentity(deps, context, { code: 'access_denied', reason, user_id });

async function resolveAccount(
  deps: LimitDeps & PlacementDeps,
  { account, context }: FederatedSignIn,
): Promise<AccountResolution> {
  const refuse = async (...why: [IdentityRefusal['reason'], string?]) => {
    throw await accessDenied(deps, context, ...why);
  };

  const linked = await findIdentity(deps, account.issuer, account.subject);
  const known = linked && (await findUser(deps.db, linked.user_id));
  if (known) {
    if (known.disabled_at === null) return { action: 'enter', user: known };
    return refuse('user_disabled', known.user_id);
  }

  // Before an account is looked up: an unverified address must not reveal whether there is one.
  if (account.email === undefined || !account.emailVerified) {
    return refuse('email_unverified_upstream');
  }
  const user = await findUserByEmail(deps, account.email);
  if (!user) {
    if (!deps.config.signUp) return refuse('sign_up_off');
    return { action: 'create', email: account.email };
  }
  if (user.disabled_at !== null) return refuse('user_disabled', user.user_id);
  // Otherwise an attacker could sign up with the address of another user, who would then use the attacker's account.
  if (user.email_verified_at === null) {
    return refuse('email_unverified_here', user.user_id);
  }
  if (!isSameAddress(user.email, account.email)) {
    return refuse('email_spelled_otherwise', user.user_id);
  }
  const identity = (await listIdentities(deps.db, user.user_id)).find(({ issuer }) => issuer === account.issuer);
  if (!identity) return { action: 'link', user };
  if (identity.subject === account.subject) return { action: 'enter', user }; // linked since the first read
  // The provider may have reassigned the address: the account stays with the identity that is linked.
  return refuse('email_of_other_identity', user.user_id);
}

/** @returns the `user_id`. */
async function applyResolution(
  deps: MailDeps & PlacementDeps,
  { account, context }: FederatedSignIn,
  resolution: AccountResolution,
): Promise<string> {
  if (resolution.action === 'create') {
    return createFederatedUser(deps, { ...account, email: resolution.email }, context);
  }
  const { user } = resolution;
  const { user_id } = user;
  if (resolution.action === 'enter' || (await linkIdentity(deps, { user, account, context, byEmail: account.email }))) {
    return user_id;
  }
  throw await accessDenied(deps, context, 'email_of_other_identity', user_id);
}

/** A user without a password, with the identity. */
async function createFederatedUser(
  deps: LimitDeps & PlacementDeps,
  account: UpstreamAccount & { email: string },
  context: CallbackContext,
): Promise<string> {
  const at = now(deps);
  const { issuer, subject, email, name, picture, locale } = account;
  const user_id = newUserId(deps.placement.bucketOfEmail(email));
  const role = 'user';
  const { provider, address } = context;
  const after = { role, provider: provider.id };
  const event = { action: 'user.created', actor: `user:${user_id}`, target: user_id, after, address } as const;
  const identity = { issuer, subject, user_id, provider: provider.id, email };
  const user = insertUser({ user_id, email, email_verified_at: at, name, picture, locale, role }, at);
  const unclaimed = await deps.claims.unclaimed(claimOfEmail(deps, email));
  const claims = { taken: [claimOfIdentity(deps.db, issuer, subject)] };
  const done = await deps.claims.holding(user_id, claims, (claim) =>
    deps.db.of(user_id).change({
      run: {
        claim,
        user: [...user, ...unclaimed],
        identity: mayConflict(insertIdentity(identity, at, account.emailVerified)),
        event: auditEvent(event, at).statement,
      },
    }),
  );
  if (done.ok) return user_id;
  if (wasOvertaken(done)) throw tookTooLong();
  throw await accessDenied(deps, context, 'email_taken');
}

/**
 * The time of the authentication. A provider that knows the browser sends it back without authenticating the user again,
 * and a session that continues must not become fresher by that: neither for what requires a recent sign-in nor for a
 * client.
 * @returns Unix seconds.
 * @throws {RequestError} `access_denied` if a fresh authentication is required, the provider does not say when it took
 * place, and the user can confirm by other means.
 */
async function authTimeOf(deps: LimitDeps, signIn: FederatedSignIn, user_id: string): Promise<number> {
  const { account, authorization, signInRequest, context } = signIn;
  const at = now(deps);
  const before = signInRequest.previous?.user_id === user_id ? signInRequest.previous.auth_time : undefined;
  if (account.auth_time !== undefined) {
    return Math.max(Math.min(at, Math.floor(account.auth_time)), before ?? 0);
  }
  // A new session: nothing is known but that the user signs in now.
  if (before === undefined) return at;
  const since = authenticatedSince(authorization, at);
  // With TOTP the second step, which is still to come, is the authentication that counts.
  if (since === undefined || before >= since || (await isTotpActive(deps.db, user_id))) return before;
  if (!(await canConfirmOtherwise(deps, user_id))) return at;
  throw await accessDenied(deps, context, 'auth_time_missing', user_id);
}

async function canConfirmOtherwise({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const [password, passkeys] = await Promise.all([passwordOf(db, user_id), listPasskeys(db, user_id)]);
  return password !== undefined || passkeys.length > 0;
}
