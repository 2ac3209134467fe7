import { findUser, lockUser } from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { OneDb } from '../../platform/db/db.ts';
import { inSlices } from '../../platform/db/slices.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { bucketOf, digest, newSecretIn } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import {
  type FactorRecovery,
  mayRecover,
  noteLink,
  noteReminder,
  recoveriesToMail,
  recoveryLinkDays,
} from '../sessions/factor-recoveries.store.ts';
import { endRecovery } from '../sessions/second-steps.ts';
import { mailToEveryAddress, recoverPath, stopPath, valuesOf } from './recovery-mails.ts';
import { recoveryWait } from './request-recovery.ts';

/**
 * The mails of the requests that wait: the reminder a day before the end, and the link at the end. Any node may do this at any time: the
 * mail is enqueued in the change that notes it. Where the operator allows it no longer, none is sent.
 * @returns false if the signal ended it before all was done.
 */
export function mailRecoveries(deps: MailDeps & { db: OneDb }, signal?: AbortSignal): Promise<boolean> {
  if (recoveryWait(deps) === undefined) return Promise.resolve(true);
  return inSlices(
    async (rows) => {
      const due = await recoveriesToMail(deps.db, now(deps), rows);
      for (const recovery of due) await mailNext(deps, recovery);
      return due.length;
    },
    signal,
    50,
  );
}

async function mailNext(deps: MailDeps, recovery: FactorRecovery): Promise<void> {
  const { user_id, email, due_at, notify_at } = recovery;
  const at = now(deps);
  const user = await findUser(deps.db, user_id);
  const secret = newSecretIn(bucketOf(user_id), 'ln_');
  const mailed = { user_id, notify_at, due_at, hash: digest(secret) };
  const { baseUrl } = deps.config;
  const stop_url = `${baseUrl}${stopPath}/${secret}`;
  const isLink = at >= due_at;
  const values = user && { ...valuesOf(deps, user, recovery), url: stop_url };
  const expires_at = at + recoveryLinkDays * 86_400;
  const link = { ...values, url: `${baseUrl}${recoverPath}/${secret}`, stop_url, days: recoveryLinkDays, expires_at };
  const event = { action: 'factor_recovery.link_sent', actor: 'system', target: user_id } as const;
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { user: mayRecover(user_id, email) },
    run: {
      noted: mustChange(isLink ? noteLink(mailed, at) : noteReminder(mailed)),
      event: isLink ? auditEvent(event, at).statement : undefined,
      mails: !user
        ? undefined
        : isLink
          ? mailTo(deps, user, 'factor_recovery_link', link)
          : await mailToEveryAddress(deps, user, 'factor_recovery', values ?? {}),
    },
  });
  if (done.ok || done.failed !== 'user') return;
  // Another address, a role, or no factor any more, none of which ends it where it is changed.
  const ended = endRecovery(user_id, { actor: 'system' }, 'account_changed', at);
  await deps.db.of(user_id).change({ lock: lockUser(user_id), run: { ended } });
}
