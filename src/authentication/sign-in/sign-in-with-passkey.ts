import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps, SecretDeps } from '../../platform/deps.ts';
import { loginRequired, refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { passkeyExists } from '../credentials/passkeys.store.ts';
import type { SignInDeps } from '../deps.ts';
import { type AssertionRequest, acceptAssertion, assertionOptions } from '../passkeys/accept-assertion.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { consumeTry, findPendingSignIn, type PendingSignIn } from '../sessions/pending-sign-ins.store.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { completeSecondStep } from '../two-factor/check-code.ts';

type PasskeyDeps = SignInDeps & Pick<Deps, 'vault'>;

/** The browser that requests a challenge, and its address. */
type Requester = { browser: string; address: string };

const signInAssertion = ({ browser, address }: Requester, user_id?: string): AssertionRequest => ({
  use: { purpose: user_id === undefined ? 'sign_in' : 'confirm', browser, subject: user_id ?? '' },
  user_id,
  address,
});

/** @param user_id of the session, for a confirmation; left out, the passkey identifies its user. */
export const signInOptions = (deps: SecretDeps, requester: Requester, user_id?: string) =>
  assertionOptions(deps, signInAssertion(requester, user_id));

/**
 * @param user_id as in {@link signInOptions}
 * @throws {RequestError} as {@link acceptAssertion}
 */
export async function signInWithPasskey(
  deps: PasskeyDeps,
  credential: unknown,
  browser: string,
  signInRequest: SignInRequest,
  user_id?: string,
) {
  const asked = signInAssertion({ browser, address: signInRequest.address }, user_id);
  const passkey = await acceptAssertion(deps, credential, { ...asked, userAgent: signInRequest.userAgent });
  const proof = {
    user_id: passkey.user_id,
    methods: ['hwk', 'mfa'], // possession of the key and user verification, both required each time
    secondStep: false,
    preconditions: { passkey: passkeyExists(passkey) },
  } as const;
  return requireOutcome(await completeSignIn(deps, proof, signInRequest));
}

/**
 * The pending sign-in, if a passkey can be its second factor: not if one was the first.
 * @throws {RequestError} `login_required` when none is pending; `access_denied` when its first factor was a passkey.
 */
async function requirePendingSignIn(deps: LimitDeps, token: string): Promise<PendingSignIn> {
  const { codesPerSignIn: maxTries } = deps.config.limits;
  const attempt = await findPendingSignIn(deps.db, { token, maxTries }, now(deps));
  if (!attempt) throw loginRequired();
  if (attempt.methods.includes('hwk')) throw refusal('access_denied', { key: 'passkey.problem.same_factor' });
  return attempt;
}

const secondFactorAssertion = (
  { browser, address }: Requester,
  token: string,
  { user_id }: PendingSignIn,
): AssertionRequest => ({ use: { purpose: 'second_factor', browser, subject: digest(token) }, user_id, address });

/** @throws {RequestError} as {@link requirePendingSignIn} */
export async function secondFactorOptions(deps: SecretDeps, token: string, requester: Requester) {
  const attempt = await requirePendingSignIn(deps, token);
  return assertionOptions(deps, secondFactorAssertion(requester, token, attempt));
}

/** @throws {RequestError} as {@link acceptAssertion} and {@link requirePendingSignIn} */
export async function completeSecondFactorWithPasskey(
  deps: PasskeyDeps,
  credential: unknown,
  browser: string,
  { token, signInRequest }: { token: string; signInRequest: SignInRequest },
) {
  const { address, userAgent } = signInRequest;
  await requirePendingSignIn(deps, token);
  // Before the assertion is checked: codes and passkeys share the few tries of a sign-in.
  const attempt = await consumeTry(deps.db, { token, maxTries: deps.config.limits.codesPerSignIn }, now(deps));
  if (!attempt) throw loginRequired();
  const asked = secondFactorAssertion({ browser, address }, token, attempt);
  await acceptAssertion(deps, credential, { ...asked, userAgent });
  return requireOutcome(await completeSecondStep(deps, { token, attempt, method: 'hwk' }, signInRequest));
}

/** A user who was disabled meanwhile gets the same refusal as for an invalid passkey. */
function requireOutcome(outcome: Outcome | undefined): Outcome {
  if (!outcome) throw refusal('access_denied', { key: 'passkey.problem.refused' });
  return outcome;
}
