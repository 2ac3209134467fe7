import { refuseAgainstAdministrator } from '../../accounts/administrators.ts';
import { findUser, lockUser } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { type Caller, readReason } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { notFound, refusal } from '../../platform/errors.ts';
import { nullable, Time } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { deviceName } from '../sessions/browser.ts';
import {
  type FactorRecovery,
  findFactorRecovery,
  findRecoveryToStop,
  hasRecoveryUnderWay,
  type RecoveryEnd,
} from '../sessions/factor-recoveries.store.ts';
import { endRecovery } from '../sessions/second-steps.ts';
import { mailToEveryAddress, valuesOf } from './recovery-mails.ts';

/** Under way, of a user. */
export async function recoveryUnderWay(deps: Pick<MailDeps, 'db' | 'clock'>, user_id: string) {
  const recovery = await findFactorRecovery(deps.db, user_id, now(deps));
  return recovery && recovery.ended_at === null ? recovery : undefined;
}

export const RecoveryRecord = Type.Object(
  {
    requested_at: Time,
    due_at: Time,
    expires_at: Time,
    address: nullable(Type.String({ description: 'Where it was asked for.' })),
    device: nullable(Type.String({ description: 'Browser and operating system, from the User-Agent header.' })),
  },
  { description: 'From `due_at` on a mailed link removes the second factors, until `expires_at`.' },
);

export const recoveryRecord = ({ requested_at, due_at, expires_at, address, user_agent }: FactorRecovery) => ({
  requested_at,
  due_at,
  expires_at,
  address,
  device: deviceName(user_agent) ?? null,
});

export const spentRecoveryLink = () =>
  refusal(
    'invalid_request',
    { key: 'link.spent.recovery' },
    { title: { key: 'error.link_spent' }, exit: { path: '/signin', label: 'signin.submit' } },
  );

/** Reads without stopping: mail scanners and previews open links. @throws {RequestError} `invalid_request` for one that is over. */
export async function requireRecoveryToStop(deps: MailDeps, token: string): Promise<FactorRecovery> {
  const recovery = await findRecoveryToStop(deps.db, token, now(deps));
  if (!recovery) throw spentRecoveryLink();
  return recovery;
}

/** By the link of any of its mails, which may have gone to any address of the account. @throws {RequestError} `invalid_request` */
export async function stopRecoveryByLink(deps: MailDeps, token: string, address: string): Promise<void> {
  const recovery = await requireRecoveryToStop(deps, token);
  const caller = { actor: `user:${recovery.user_id}`, address } as const;
  if (!(await stop(deps, recovery, caller, 'stopped'))) throw spentRecoveryLink();
}

/**
 * By its user on a page of the account, who may have come there without a second factor, by a session or a browser that is trusted.
 * @returns false where none is under way, or no longer.
 */
export async function stopOwnRecovery(deps: MailDeps, caller: Caller, user_id: string): Promise<boolean> {
  const recovery = await recoveryUnderWay(deps, user_id);
  return recovery !== undefined && stop(deps, recovery, caller, 'stopped');
}

/**
 * @param words the reason of an administrator, for the log.
 * @throws {RequestError} `not_found` where none is under way; `access_denied` as {@link refuseAgainstAdministrator} says;
 * `invalid_request` for words that are no reason.
 */
export async function stopRecoveryOfUser(
  deps: MailDeps,
  caller: Caller,
  user_id: string,
  words?: string,
): Promise<void> {
  const reason = words === undefined ? undefined : readReason(words);
  await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const recovery = await recoveryUnderWay(deps, user_id);
  if (!recovery || !(await stop(deps, recovery, caller, 'administrator', reason))) throw notFound();
}

/** Of a stop and a removal at the same moment, the lock lets one be first, and the other finds nothing. */
async function stop(
  deps: MailDeps,
  recovery: FactorRecovery,
  caller: Caller,
  reason: RecoveryEnd,
  words?: string,
): Promise<boolean> {
  const { user_id } = recovery;
  const user = await findUser(deps.db, user_id);
  const at = now(deps);
  const mails =
    user && (await mailToEveryAddress(deps, user, 'factor_recovery_stopped', valuesOf(deps, user, recovery)));
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { recovery: hasRecoveryUnderWay(user_id, at) },
    run: { recovery: endRecovery(user_id, caller, reason, at, words), mails },
  });
  return done.ok;
}
