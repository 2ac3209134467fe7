import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { listPasskeys } from '../credentials/passkeys.store.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import { isTotpActive } from '../credentials/two-factor.store.ts';
import type { SignInRequest } from '../sessions/complete-sign-in.ts';
import { authenticatedSince } from './freshness.ts';
import { type CallbackContext, refuseIdentity } from './refuse-identity.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

type ReceivedIdentity = {
  account: UpstreamAccount;
  authorization: UpstreamAuthorization;
  signInRequest: Pick<SignInRequest, 'previous'>;
  context: CallbackContext;
};

/**
 * When the person proved who they are. A provider that knows the browser sends it back without having asked anybody, so
 * a session that goes on is not fresher by it: neither for what takes a recent sign-in nor for a client.
 * @returns Unix seconds.
 * @throws {RequestError} `access_denied` where fresh proof is demanded, the provider does not say when it asked, and
 * the person can prove it another way.
 */
export async function authTimeOf(deps: LimitDeps, received: ReceivedIdentity, user_id: string): Promise<number> {
  const { account, authorization, signInRequest, context } = received;
  const at = now(deps);
  const before = signInRequest.previous?.user_id === user_id ? signInRequest.previous.auth_time : undefined;
  if (account.auth_time !== undefined) {
    return Math.max(Math.min(at, Math.floor(account.auth_time)), before ?? 0);
  }
  // Nobody was signed in, and now somebody is: that is a sign-in, of which nothing else is known.
  if (before === undefined) return at;
  const since = authenticatedSince(authorization, at);
  // With TOTP the proof that counts is the second step, which this sign-in still has before it.
  if (since === undefined || before >= since || (await isTotpActive(deps.db, user_id))) return before;
  if (!(await canConfirmOtherwise(deps, user_id))) return at;
  const identityRefusal = {
    code: 'access_denied',
    userMessage: 'federation.says_no_time',
    reason: 'auth_time_missing',
    user_id,
  } as const;
  throw await refuseIdentity(deps, context, identityRefusal);
}

async function canConfirmOtherwise({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const [password, passkeys] = await Promise.all([passwordOf(db, user_id), listPasskeys(db, user_id)]);
  return password !== undefined || passkeys.length > 0;
}
