import { findUser, lockUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { bucketOf, digest, newSecretIn } from '../../platform/ids.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import {
  type FactorRecovery,
  findFactorRecovery,
  insertFactorRecovery,
  mayRecover,
} from '../sessions/factor-recoveries.store.ts';
import { type PendingSignIn, pendingSignInExists } from '../sessions/pending-sign-ins.store.ts';
import { mailToEveryAddress, stopPath, valuesOf } from './recovery-mails.ts';

const day = 86_400;

/** For how many days one waits; undefined where the operator does not allow it, or no mail could tell of it. */
export const recoveryWait = ({ config, mail }: Pick<MailDeps, 'config' | 'mail'>): number | undefined =>
  mail.works ? config.recoveryWaitDays : undefined;

/** Once the wait is this long, a reminder comes a day before its end. */
const remindedFrom = 2;

export type RecoveryState =
  /** Another administrator helps, or its user proves the address first. */
  | { kind: 'impossible' }
  | { kind: 'possible'; email: string; days: number }
  | { kind: 'under_way'; recovery: FactorRecovery }
  /** The last one has ended so lately that there may not be another one yet. */
  | { kind: 'paused'; from: number };

/** What the page between the factors offers who has shown a password. */
export async function recoveryStateOf(deps: MailDeps, { user_id, methods }: PendingSignIn): Promise<RecoveryState> {
  const days = recoveryWait(deps);
  const [user, recovery, password] = await Promise.all([
    findUser(deps.db, user_id),
    findFactorRecovery(deps.db, user_id, now(deps)),
    passwordOf(deps.db, user_id),
  ]);
  if (days === undefined || !user || !password || !methods.includes('pwd')) return { kind: 'impossible' };
  if (!(await deps.db.of(user_id).holds(mayRecover(user_id, user.email)))) return { kind: 'impossible' };
  if (!recovery) return { kind: 'possible', email: user.email, days };
  if (recovery.ended_at !== null) return { kind: 'paused', from: recovery.expires_at };
  return { kind: 'under_way', recovery };
}

type Asking = { token: string; attempt: PendingSignIn; address: string; userAgent: string | undefined };

/**
 * Begins the wait, after which the second factors are removed, and tells all addresses of the account. Changes nothing where
 * {@link recoveryStateOf} says so, also if that became so meanwhile.
 * @param token of the pending sign-in, whose password was right.
 */
export async function requestRecovery(deps: MailDeps, { token, attempt, address, userAgent }: Asking): Promise<void> {
  const state = await recoveryStateOf(deps, attempt);
  const { user_id } = attempt;
  const user = await findUser(deps.db, user_id);
  if (state.kind !== 'possible' || !user) return;
  const at = now(deps);
  const due_at = at + state.days * day;
  const stop = newSecretIn(bucketOf(user_id), 'ln_');
  const asked = { requested_at: at, due_at, address, user_agent: userAgent?.slice(0, 300) ?? null };
  const recovery = {
    user_id,
    email: user.email,
    due_at,
    notify_at: state.days < remindedFrom ? due_at : due_at - day,
    stop_hash: digest(stop),
    address,
    user_agent: asked.user_agent,
  };
  const url = `${deps.config.baseUrl}${stopPath}/${stop}`;
  const mails = await mailToEveryAddress(deps, user, 'factor_recovery', { ...valuesOf(deps, user, asked), url });
  const event = { action: 'factor_recovery.requested', actor: `user:${user_id}`, target: user_id, address } as const;
  // Refused where another one was asked for at the same moment, or the sign-in is over: the page says what is there.
  await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { attempt: pendingSignInExists(token), user: mayRecover(user_id, user.email) },
    run: {
      recovery: mustChange(insertFactorRecovery(recovery, at)),
      event: auditEvent({ ...event, after: { due_at } }, at).statement,
      mails,
    },
  });
}
