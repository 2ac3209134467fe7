import { mayMailAbout } from '../../accounts/mail-limits.ts';
import { findUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps, LimitDeps, MailDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { type LetterName, mailTo } from '../../platform/mail/letters.ts';
import { type CodeLimits, codeLimits } from '../credentials/code-limits.ts';
import {
  consumeBackupCode,
  consumeStep,
  countBackupCodes,
  findTotp,
  type TotpRow,
} from '../credentials/two-factor.store.ts';
import type { SignInDeps } from '../deps.ts';
import type { Method } from '../sessions/authentication.ts';
import { completeSignIn, type Proof } from '../sessions/complete-sign-in.ts';
import {
  consumeTry,
  deletePendingSignIn,
  type PendingSignIn,
  pendingSignInExists,
} from '../sessions/pending-sign-ins.store.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';
import { findKnownDevice } from '../sessions/store.ts';
import { deleteTrustedBrowsersOfUser } from '../sessions/trusted-browsers.store.ts';
import { backupCodeHashes } from './backup-codes.ts';
import { matchingStep, totpPurpose } from './totp.ts';

type Verdict =
  | { kind: 'passed'; outcome: Outcome }
  /** `triesLeft` is 0 when the sign-in has to start again. */
  | { kind: 'wrong'; triesLeft: number }
  /** The sign-in is not, or no longer, pending. */
  | { kind: 'over' };

/**
 * The second step of a sign-in, by TOTP or backup code. With a backup code no browser becomes a trusted one, since such a code is
 * what is left after a loss, or a thief's. A try is used up before the code is checked, and the code before
 * the session is made, each by one conditional statement: of any number of concurrent requests only so many are checked,
 * and one code gives one session.
 * @throws {RequestError} `rate_limited` after too many wrong codes of the user within an hour, `access_denied` after too
 * many in a row; both for TOTP only, and for known and unknown browsers separately.
 */
export async function checkCode(
  deps: SignInDeps & Pick<Deps, 'vault'>,
  token: string,
  { code, trusts }: { code: string; trusts: boolean },
  signInRequest: SignInRequest,
): Promise<Verdict> {
  const attempt = await consumeTry(deps.db, { token, maxTries: deps.config.limits.codesPerSignIn }, now(deps));
  if (!attempt) return { kind: 'over' };
  const guess = await guessOf(deps, attempt, signInRequest);
  const right = await consumeCode(deps, guess, code);
  if (right === 'disabled' || right === 'wrong') {
    const reason = right === 'wrong' ? 'wrong_code' : 'codes_disabled';
    countSignIn(attempt.methods, reason);
    await recordRefusal(deps, { ...guess, attempt }, reason, signInRequest.address);
    if (right === 'disabled') throw refusal('access_denied', { key: 'second_factor.disabled' });
    return { kind: 'wrong', triesLeft: attempt.triesLeft };
  }
  const also =
    right === 'totp'
      ? guess.limits.forget()
      : [
          ...guess.limits.open(),
          ...(await notifyBackupCodeUse(deps, attempt, signInRequest)),
          deleteTrustedBrowsersOfUser(attempt.user_id), // the app may be lost, and with it a browser
        ];
  const passed = { token, attempt, method: 'otp', trusts: trusts && right === 'totp' } as const;
  const outcome = await completeSecondStep(deps, passed, signInRequest, also);
  return outcome ? { kind: 'passed', outcome } : { kind: 'over' };
}

/** What a code is compared with, and the limits for the browser it comes from. */
type Guess = { totp: TotpRow | undefined; isKnown: boolean; limits: CodeLimits };

/** A browser is known if it has passed the second step with this secret: an attacker's earlier sign-in does not count. */
async function guessOf(deps: LimitDeps, { user_id }: PendingSignIn, { deviceToken }: SignInRequest): Promise<Guess> {
  const totp = await findTotp(deps.db, user_id);
  const confirmed_at = totp?.confirmed_at ?? 0;
  const device_hash = await findKnownDevice(deps.db, user_id, deviceToken, confirmed_at);
  const limits = codeLimits(deps, { user_id, confirmed_at, device_hash });
  return { totp, isKnown: device_hash !== undefined, limits };
}

/**
 * Completes a sign-in after its second factor. The change that makes the session deletes the pending sign-in, so it gives
 * one session at most, and none if a change of password or factors has ended it.
 * @param also committed with the session.
 * @returns undefined if the pending sign-in was ended, or the user disabled, meanwhile.
 */
export async function completeSecondStep(
  deps: SignInDeps,
  {
    token,
    attempt,
    method,
    trusts,
  }: { token: string; attempt: PendingSignIn; method: Method /** As in {@link Proof}. */; trusts?: boolean },
  signInRequest: SignInRequest,
  also: readonly Sql[] = [],
): Promise<Outcome | undefined> {
  const { user_id, methods, upstream } = attempt;
  const proof: Proof = {
    user_id,
    methods: [...new Set([...methods, method, 'mfa' as const])],
    secondStep: true,
    upstream: upstream ?? undefined,
    trusts,
    preconditions: { attempt: pendingSignInExists(token) },
  };
  const opened = method === 'hwk' ? (await guessOf(deps, attempt, signInRequest)).limits.open() : [];
  return completeSignIn(deps, proof, signInRequest, [deletePendingSignIn(token), ...opened, ...also]);
}

async function consumeCode(
  deps: Pick<Deps, 'db' | 'clock' | 'vault'>,
  { totp, limits }: Guess,
  code: string,
): Promise<'totp' | 'backup_code' | 'wrong' | 'disabled'> {
  const at = now(deps);
  if (!totp?.secret_sealed) return 'wrong';
  const { user_id, secret_sealed } = totp;
  const code_hashes = backupCodeHashes(deps, user_id, code);
  if (code_hashes !== undefined) {
    return (await consumeBackupCode(deps.db, user_id, code_hashes, at)) ? 'backup_code' : 'wrong';
  }
  if (!(await limits.take())) return 'disabled';
  const step = await matchingStep(deps.vault.open(totpPurpose(user_id), secret_sealed), code, at);
  if (step === undefined) return 'wrong';
  return (await consumeStep(deps.db, { user_id, secret_sealed, step }, at)) ? 'totp' : 'wrong';
}

async function notifyBackupCodeUse(
  deps: MailDeps,
  { user_id }: PendingSignIn,
  { address }: SignInRequest,
): Promise<Sql[]> {
  const [user, { remaining }] = await Promise.all([findUser(deps.db, user_id), countBackupCodes(deps.db, user_id)]);
  const subject = { actor: `user:${user_id}`, target: user_id, address } as const;
  const { statement } = auditEvent({ action: 'backup_code.used', ...subject, after: { remaining } }, now(deps));
  return [statement, ...(user ? mailTo(deps, user, 'backup_code_used', { remaining, address }) : [])];
}

type Refused = Pick<Guess, 'isKnown'> & { attempt: PendingSignIn & { triesLeft: number } };
type Refusal = 'wrong_code' | 'codes_disabled';

async function recordRefusal(deps: MailDeps, refused: Refused, reason: Refusal, address: string): Promise<void> {
  const { user_id } = refused.attempt;
  const event = { action: 'session.refused', actor: 'system', target: user_id, reason, address } as const;
  const { statement } = auditEvent(event, now(deps));
  const name = await notificationFor(deps, refused, reason);
  const user = name && (await findUser(deps.db, user_id));
  const mails = name && user ? mailTo(deps, user, name, { address }) : [];
  await deps.db.of(user_id).change({ run: { event: statement, mails } });
}

/**
 * A request that gets here has given the first factor, so the owner is notified of the first wrong code within an hour:
 * otherwise guesses that stop before the last try would go unnoticed. In a known browser it is taken for a slip until it
 * ends the sign-in. The limits keep an attacker who knows the password from filling the mailbox.
 */
async function notificationFor(
  deps: LimitDeps,
  { attempt: { user_id, triesLeft }, isKnown }: Refused,
  reason: Refusal,
): Promise<LetterName | undefined> {
  const limited = async (kind: string, limit: number, windowSeconds: number, name: LetterName) =>
    (await mayMailAbout(deps, kind, user_id, { limit, windowSeconds })) ? name : undefined;
  if (reason === 'codes_disabled') return limited('codes-disabled', 1, 86_400, 'codes_disabled');
  if (triesLeft === 0) return limited('second-factor', 3, 3600, 'second_factor_refused');
  return isKnown ? undefined : limited('wrong-code', 1, 3600, 'second_factor_wrong');
}
