import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps, SecretDeps } from '../../platform/deps.ts';
import { loginRequired, refusal } from '../../platform/errors.ts';
import { type Passkey, passkeyExists } from '../credentials/passkeys.store.ts';
import type { SignInDeps } from '../deps.ts';
import { acceptAssertion, assertionOptions } from '../passkeys/accept-assertion.ts';
import type { ChallengeUse } from '../passkeys/challenge.ts';
import type { Method } from '../sessions/authentication.ts';
import { completeSignIn, type Proof } from '../sessions/complete-sign-in.ts';
import { consumeTry, findPendingSignIn, type PendingSignIn } from '../sessions/pending-sign-ins.store.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { completeSecondStep } from '../two-factor/check-code.ts';

type PasskeyDeps = SignInDeps & Pick<Deps, 'vault'>;

/** The key and its user verification: two factors at once. Both are required each time. */
const proved: readonly Method[] = ['hwk', 'mfa'];

/** The browser that requests a challenge, and its address. */
type RequesterContext = { browser: string; address: string };

const signInUse = (browser: string): ChallengeUse => ({ purpose: 'sign_in', browser, subject: '' });
const confirmUse = (browser: string, user_id: string): ChallengeUse => ({
  purpose: 'confirm',
  browser,
  subject: user_id,
});
const secondFactorUse = (browser: string, attempt_hash: string): ChallengeUse => ({
  purpose: 'second_factor',
  browser,
  subject: attempt_hash,
});

/** For any user: the passkey names its own. */
export const signInOptions = (deps: SecretDeps, { browser, address }: RequesterContext) =>
  assertionOptions(deps, { use: signInUse(browser), address });

/** @throws {RequestError} as {@link acceptAssertion} */
export async function signInWithPasskey(
  deps: PasskeyDeps,
  credential: unknown,
  browser: string,
  signInRequest: SignInRequest,
) {
  const asked = { use: signInUse(browser), address: signInRequest.address };
  return requireOutcome(completeSignIn(deps, proofBy(await acceptAssertion(deps, credential, asked)), signInRequest));
}

/** For the user of a session, before an action that needs a recent sign-in. */
export const confirmOptions = (deps: SecretDeps, user_id: string, { browser, address }: RequesterContext) =>
  assertionOptions(deps, { use: confirmUse(browser, user_id), user_id, address });

/** The user of the session. */
type Confirming = { user_id: string; signInRequest: SignInRequest };

/** @throws {RequestError} as {@link acceptAssertion} */
export async function confirmWithPasskey(deps: PasskeyDeps, credential: unknown, browser: string, who: Confirming) {
  const { user_id, signInRequest } = who;
  const asked = { use: confirmUse(browser, user_id), user_id, address: signInRequest.address };
  return requireOutcome(completeSignIn(deps, proofBy(await acceptAssertion(deps, credential, asked)), signInRequest));
}

/** Valid while the passkey exists: one that is removed meanwhile starts no session. */
const proofBy = (passkey: Passkey): Proof => ({
  user_id: passkey.user_id,
  methods: proved,
  secondStep: false,
  preconditions: { passkey: passkeyExists(passkey) },
});

/**
 * The sign-in that waits for a second factor, if a passkey can be that: not if one was the first.
 * @throws {RequestError} `login_required` when none waits; `access_denied` when its first factor was a passkey.
 */
async function requirePendingSignIn(deps: LimitDeps, attempt_hash: string): Promise<PendingSignIn> {
  const attempt = await findPendingSignIn(
    deps.db,
    { attempt_hash, maxTries: deps.config.limits.codesPerSignIn },
    now(deps),
  );
  if (!attempt) throw loginRequired();
  if (attempt.methods.includes('hwk')) throw refusal('access_denied', { key: 'passkey.problem.same_factor' });
  return attempt;
}

/** @throws {RequestError} as {@link requirePendingSignIn} */
export async function secondFactorOptions(
  deps: SecretDeps,
  attempt_hash: string,
  { browser, address }: RequesterContext,
) {
  const { user_id } = await requirePendingSignIn(deps, attempt_hash);
  return assertionOptions(deps, { use: secondFactorUse(browser, attempt_hash), user_id, address });
}

/** @throws {RequestError} as {@link acceptAssertion} and {@link requirePendingSignIn} */
export async function completeSecondFactorWithPasskey(
  deps: PasskeyDeps,
  credential: unknown,
  browser: string,
  { attempt_hash, signInRequest }: { attempt_hash: string; signInRequest: SignInRequest },
) {
  const { address } = signInRequest;
  await requirePendingSignIn(deps, attempt_hash);
  // Before the assertion is checked: codes and passkeys share the few tries of a sign-in.
  const attempt = await consumeTry(deps.db, { attempt_hash, maxTries: deps.config.limits.codesPerSignIn }, now(deps));
  if (!attempt) throw loginRequired();
  const { user_id } = attempt;
  await acceptAssertion(deps, credential, { use: secondFactorUse(browser, attempt_hash), user_id, address });
  return requireOutcome(completeSecondStep(deps, { attempt_hash, attempt, method: 'hwk' }, signInRequest));
}

/** A user who was disabled meanwhile gets the same refusal as for an invalid passkey. */
async function requireOutcome(outcome: Promise<Outcome | undefined>): Promise<Outcome> {
  const reached = await outcome;
  if (!reached) throw refusal('access_denied', { key: 'passkey.problem.refused' });
  return reached;
}
