import { findUser, findUserByEmail, insertUser } from '../../accounts/store.ts';
import type { User } from '../../accounts/user.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { LimitDeps, MailDeps } from '../../platform/deps.ts';
import { newId } from '../../platform/ids.ts';
import { findIdentity, insertIdentity, listIdentities, touchIdentity } from '../credentials/identities.store.ts';
import type { SignInDeps } from '../deps.ts';
import { completeSignIn, type Outcome, type SignInRequest } from '../sessions/complete-sign-in.ts';
import { authTimeOf } from './auth-time.ts';
import { type AccountResolution, type Confirmation, confirmationFor } from './confirmation.ts';
import { linkIdentity } from './link-identity.ts';
import { type CallbackContext, type IdentityRefusal, refuseIdentity } from './refuse-identity.ts';
import { isSameAddress, nameOf, type UpstreamAccount } from './upstream-account.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

type FederatedSignIn = {
  account: UpstreamAccount;
  context: CallbackContext;
  signInRequest: SignInRequest;
  authorization: UpstreamAuthorization;
  /** What the person has said yes to. */
  agreement?: string;
};

/**
 * Signs somebody in whom an upstream has named: whoever is linked with them; else whoever has the same address, proved
 * on both sides; else a new account, if people may make one (decisions §9).
 * @returns a question, as long as nobody has agreed to what the sign-in would do.
 * @throws {RequestError} `access_denied`, with a sentence that says what to do.
 */
export async function signInWithIdentity(deps: SignInDeps, signIn: FederatedSignIn): Promise<Outcome | Confirmation> {
  const { account, context, agreement } = signIn;
  const resolution = await resolveAccount(deps, signIn);
  const confirmation = confirmationFor(resolution, { ...signIn, upstreamName: nameOf(account) });
  if (confirmation && confirmation.agreement !== agreement) return confirmation;
  const user_id = await applyResolution(deps, signIn, resolution);
  const outcome = await complete(deps, signIn, user_id);
  return outcome ?? Promise.reject(await refuseDisabledUser(deps, context, user_id));
}

/** A provider is one factor, so a second may follow. */
async function complete(deps: SignInDeps, signIn: FederatedSignIn, user_id: string) {
  const { account, signInRequest } = signIn;
  const used = touchIdentity(account, account.email ?? null, now(deps));
  const authTime = await authTimeOf(deps, signIn, user_id);
  const proof = { user_id, methods: ['fed'], secondStep: false, authTime } as const;
  const outcome = await completeSignIn(deps, proof, signInRequest, [used]);
  // What is to commit with a session does not, where none begins yet.
  if (outcome?.kind === 'second_factor') await deps.db.run(used);
  return outcome;
}

/**
 * The same person once more: nobody but who is signed in.
 * @throws {RequestError} `access_denied`
 */
export async function confirmWithIdentity(
  deps: SignInDeps,
  signIn: FederatedSignIn,
  user_id: string,
): Promise<Outcome> {
  const { account, context } = signIn;
  const linked = await findIdentity(deps.db, account.issuer, account.subject);
  if (linked?.user_id !== user_id) {
    const identityRefusal = {
      code: 'access_denied',
      userMessage: 'federation.other_identity',
      reason: 'other_identity',
      user_id,
    } as const;
    throw await refuseIdentity(deps, context, identityRefusal);
  }
  const outcome = await complete(deps, signIn, user_id);
  return outcome ?? Promise.reject(await refuseDisabledUser(deps, context, user_id));
}

const refuseDisabledUser = (deps: LimitDeps, context: CallbackContext, user_id: string) =>
  refuseIdentity(deps, context, {
    code: 'access_denied',
    userMessage: 'federation.not_connected',
    reason: 'user_disabled',
    user_id,
  });

/** Whose account an identity opens, or what would have to be done first. */
async function resolveAccount(deps: LimitDeps, { account, context }: FederatedSignIn): Promise<AccountResolution> {
  const refuse = async (
    userMessage: IdentityRefusal['userMessage'],
    reason: IdentityRefusal['reason'],
    user_id?: string,
  ) => Promise.reject(await refuseIdentity(deps, context, { code: 'access_denied', userMessage, reason, user_id }));

  const linked = await findIdentity(deps.db, account.issuer, account.subject);
  const known = linked && (await findUser(deps.db, linked.user_id));
  if (known) {
    if (known.disabled_at === null) return { action: 'enter', user: known };
    return refuse('federation.not_connected', 'user_disabled', known.user_id);
  }

  // Asked first, and of everybody alike: an address that nobody has proved tells nothing about accounts here.
  if (account.email === undefined || !account.emailVerified) {
    return refuse('federation.email_unproved', 'email_unverified_upstream');
  }
  const user = await findUserByEmail(deps.db, account.email);
  if (!user) {
    if (!deps.config.signUp) return refuse('federation.sign_up_off', 'sign_up_off');
    return { action: 'create', email: account.email };
  }
  if (user.disabled_at !== null) return refuse('federation.not_connected', 'user_disabled', user.user_id);
  // Whoever typed somebody else's address into a sign-up would own the account that its owner then walks into.
  if (user.email_verified_at === null) {
    return refuse('federation.account_unproved', 'email_unverified_here', user.user_id);
  }
  if (!isSameAddress(user.email, account.email)) {
    return refuse('federation.account_alike', 'email_spelled_otherwise', user.user_id);
  }
  const identity = (await listIdentities(deps.db, user.user_id)).find(({ issuer }) => issuer === account.issuer);
  if (!identity) return { action: 'link', user };
  if (identity.subject === account.subject) return { action: 'enter', user }; // connected this very moment
  // Another person may have been given the address of one who left: whom we know there already stays who they are.
  return refuse('federation.account_has_other', 'email_of_other_identity', user.user_id);
}

/** Connects or makes the account, where that was agreed to. @returns its `user_id`. */
async function applyResolution(
  deps: MailDeps,
  { account, context }: FederatedSignIn,
  resolution: AccountResolution,
): Promise<string> {
  if (resolution.action === 'create')
    return createFederatedUser(deps, { ...account, email: resolution.email }, context);
  const { user } = resolution;
  const { user_id } = user;
  if (resolution.action === 'enter' || (await linkIdentity(deps, { user, account, context, byEmail: account.email }))) {
    return user_id;
  }
  const reason = 'email_of_other_identity'; // made this very moment
  const identityRefusal = {
    code: 'access_denied',
    userMessage: 'federation.account_has_other',
    reason,
    user_id,
  } as const;
  throw await refuseIdentity(deps, context, identityRefusal);
}

/** The account and its identity, or neither. It has no password. */
async function createFederatedUser(
  deps: LimitDeps,
  account: UpstreamAccount & { email: string },
  context: CallbackContext,
): Promise<string> {
  const at = now(deps);
  const { issuer, subject, email, name, picture, locale } = account;
  const user_id = newId('usr');
  const role: User['role'] = 'user';
  const created = auditEvent(
    {
      action: 'user.created',
      actor: `user:${user_id}`,
      target: user_id,
      after: { role, provider: context.provider.id },
      address: context.address,
    },
    at,
  );
  const identity = { issuer, subject, user_id, provider: context.provider.id, email };
  const done = await deps.db.change({
    run: {
      user: mayConflict(insertUser({ user_id, email, email_verified_at: at, name, picture, locale, role }, at)),
      identity: mayConflict(insertIdentity(identity, at)),
      event: created.statement,
    },
  });
  if (done.ok) return user_id;
  const identityRefusal = {
    code: 'access_denied',
    userMessage: 'federation.email_taken',
    reason: 'email_taken',
  } as const;
  throw await refuseIdentity(deps, context, identityRefusal);
}
