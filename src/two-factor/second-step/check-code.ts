import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../clock.ts';
import type { Statement } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../lib/ids.ts';
import { windowLimit } from '../../limits/failure-limits.ts';
import { mailTo } from '../../mail/mail-to.ts';
import { failUnless } from '../../one-time-links/store.ts';
import type { Method } from '../../sessions/authentication.ts';
import { completeSignIn, type Outcome, type Proof, type Visit } from '../../signin/complete-sign-in.ts';
import { attemptIsThere, deleteAttempt, type SignInAttempt, takeTry } from '../../signin/store.ts';
import { findUser, lockUser } from '../../users/store.ts';
import { backupCodeHash } from '../backup-codes.ts';
import { consumeBackupCode, consumeStep, countBackupCodes, findTotp } from '../store.ts';
import { matchingStep, totpPurpose } from '../totp.ts';

/** Decisions §13. Each sign-in has five tries; this bounds those of all sign-ins of one person together. */
const perPerson = { name: 'second-factor', limit: 10, windowSeconds: 3600 };

export type Verdict =
  | { kind: 'passed'; outcome: Outcome }
  /** `triesLeft` is 0 when this sign-in has to begin again. */
  | { kind: 'wrong'; triesLeft: number }
  /** There is no such sign-in, or no longer. */
  | { kind: 'over' };

/**
 * The second step of a sign-in, by TOTP or backup code. A try is used up before the code is looked at, and the code
 * before there is a session, each by one conditional statement: of any number of requests at once, five are looked at,
 * and one code gives one session.
 * @throws {RequestError} `rate_limited` after ten failures of this person within an hour.
 */
export async function checkCode(deps: Deps, attempt_hash: string, code: string, visit: Visit): Promise<Verdict> {
  const attempt = await takeTry(deps.db, attempt_hash, now(deps));
  if (!attempt) return { kind: 'over' };
  const limit = windowLimit(deps, perPerson);
  await limit.take(attempt.user_id);
  const used = await consumeCode(deps, attempt.user_id, code);
  if (used === undefined) {
    await recordRefusal(deps, attempt, visit.address);
    return { kind: 'wrong', triesLeft: attempt.triesLeft };
  }
  const also = [
    limit.forget(attempt.user_id),
    ...(used === 'backup_code' ? await tellOfBackupCode(deps, attempt, visit) : []),
  ];
  const outcome = await passSecondStep(deps, { attempt_hash, attempt, method: 'otp' }, visit, also);
  return outcome ? { kind: 'passed', outcome } : { kind: 'over' };
}

/**
 * The end of a sign-in whose second factor was right, whichever it was. The attempt goes with the same batch that makes
 * the session: it gives one at most, and none if a change of password or factors has ended it meanwhile.
 * @param also commits with the session.
 * @returns undefined if it was ended, or the person was disabled, this very moment.
 */
export function passSecondStep(
  deps: Deps,
  { attempt_hash, attempt, method }: { attempt_hash: string; attempt: SignInAttempt; method: Method },
  visit: Visit,
  also: readonly Statement[] = [],
): Promise<Outcome | undefined> {
  const { user_id, methods } = attempt;
  const isThere = failUnless(attemptIsThere(attempt_hash), newId('att'), now(deps));
  const proof: Proof = {
    user_id,
    methods: [...new Set([...methods, method, 'mfa' as const])],
    secondStep: true,
    stillTrue: [lockUser(user_id), isThere],
  };
  return completeSignIn(deps, proof, visit, [deleteAttempt(attempt_hash), ...also]);
}

async function consumeCode(deps: Deps, user_id: string, code: string): Promise<'totp' | 'backup_code' | undefined> {
  const at = now(deps);
  const code_hash = backupCodeHash(code);
  if (code_hash !== undefined) {
    return (await consumeBackupCode(deps.db, user_id, code_hash, at)) ? 'backup_code' : undefined;
  }
  const secret_sealed = (await findTotp(deps.db, user_id))?.secret_sealed;
  if (!secret_sealed) return undefined;
  const step = await matchingStep(deps.vault.open(totpPurpose(user_id), secret_sealed), code, at);
  if (step === undefined) return undefined;
  return (await consumeStep(deps.db, { user_id, secret_sealed, step }, at)) ? 'totp' : undefined;
}

async function tellOfBackupCode(deps: Deps, { user_id }: SignInAttempt, { address }: Visit): Promise<Statement[]> {
  const [user, { remaining }] = await Promise.all([findUser(deps.db, user_id), countBackupCodes(deps.db, user_id)]);
  const event = {
    action: 'backup_code.used',
    actor: `user:${user_id}`,
    target: user_id,
    after: { remaining },
    address,
  } as const;
  const { statement } = auditEvent(event, now(deps));
  return [statement, ...(user ? mailTo(deps, user, 'backup_code_used', { remaining, address }) : [])];
}

/** Whoever fails five times has the first factor: its owner should know. One request alone took the last try. */
async function recordRefusal(
  deps: Deps,
  attempt: SignInAttempt & { triesLeft: number },
  address: string,
): Promise<void> {
  const { user_id, triesLeft } = attempt;
  const event = { action: 'session.refused', actor: 'system', target: user_id, reason: 'wrong_code', address } as const;
  const { statement } = auditEvent(event, now(deps));
  const user = triesLeft === 0 ? await findUser(deps.db, user_id) : undefined;
  await deps.db.batch([statement, ...(user ? mailTo(deps, user, 'second_factor_refused', { address }) : [])]);
}
