import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { newUserId } from '../../platform/ids.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { asciiDigits } from '../../platform/text.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import type { SignInDeps } from '../deps.ts';
import { passwordLimits } from '../passwords/password-limits.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { consumeMailCodeTry, deleteMailCode, maySignInByMail } from '../sessions/mail-codes.store.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';
import { findKnownDevice } from '../sessions/store.ts';
import { mailCodeHash } from './request-mail-code.ts';

type Verdict =
  | { kind: 'passed'; outcome: Outcome }
  /** `triesLeft` is 0 when another code has to be asked for. */
  | { kind: 'wrong'; triesLeft: number }
  | { kind: 'over' };

/**
 * Signs in by the code of a mail: one factor, after which the second is asked for. Wrong codes count as wrong passwords do, of the
 * account and the IP address, whether or not there is an account, so guessing codes gets no further than guessing passwords.
 * @param token the secret of the browser that asked for the code.
 * @throws {RequestError} `rate_limited`, `access_denied` as `passwordLimits` says.
 */
export async function signInWithMailCode(
  deps: SignInDeps,
  { token, code }: { token: string; code: string },
  signInRequest: SignInRequest,
): Promise<Verdict> {
  const { address, deviceToken } = signInRequest;
  const asked = await consumeMailCodeTry(deps.db, token, now(deps));
  if (!asked) return { kind: 'over' };
  const { user_id, email, code_hash, triesLeft } = asked;
  const subject = user_id ?? newUserId(deps.placement.bucketOfEmail(email));
  const since = (await passwordOf(deps.db, subject))?.changed_at ?? 0;
  const device = await findKnownDevice(deps.db, subject, deviceToken, since);
  const limits = passwordLimits(deps, user_id ?? undefined, device);
  await limits.check(email, address);
  const typed = asciiDigits(code.slice(0, 100).normalize('NFKC')).replace(/[\s\p{Pd}]/gu, '');
  if (user_id === null || mailCodeHash(token, typed) !== code_hash) {
    await limits.failed(email, address);
    countSignIn(['otp'], 'wrong_mail_code');
    const refused = {
      action: 'session.refused',
      target: user_id ?? undefined,
      reason: 'wrong_mail_code',
      address,
    } as const;
    await deps.db.near(addressKey(address)).change({ run: { event: unauthenticatedEvent(deps, refused) } });
    return { kind: 'wrong', triesLeft };
  }
  await limits.succeeded(email, address);
  const used = await deps.db.of(token).change({ run: { code: mustChange(deleteMailCode(token)) } });
  if (!used.ok) return { kind: 'over' };
  const preconditions = { address: maySignInByMail(user_id, email) };
  const outcome = await completeSignIn(
    deps,
    { user_id, methods: ['otp'], secondStep: false, preconditions },
    signInRequest,
  );
  return outcome ? { kind: 'passed', outcome } : { kind: 'over' };
}
