import { auditEvent, type Caller } from '../../audit/audit.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import { endFactorRecovery, hasRecoveryUnderWay, type RecoveryEnd } from './factor-recoveries.store.ts';
import { deleteMailCodesOfUser } from './mail-codes.store.ts';
import { deletePendingSignInsOfUser } from './pending-sign-ins.store.ts';
import { deleteTrustedBrowsersOfUser } from './trusted-browsers.store.ts';

type Kept = {
  /** `trusted_by` of the session that makes the change, where its browser stays trusted. */
  trust?: string | null;
  /** Why a request to remove the second factors ends. */
  reason?: RecoveryEnd;
};

/**
 * For a change of password, factors or ways to sign in, and for the end of all access: a sign-in that began before has to start
 * again, no browser stands in for the second factor any more, and a request to remove it is over.
 * @param at Unix seconds.
 */
export const endSecondSteps = (
  user_id: UserId,
  at: number,
  { trust, reason = 'account_changed' }: Kept = {},
): Sql[] => [
  deletePendingSignInsOfUser(user_id),
  deleteMailCodesOfUser(user_id),
  deleteTrustedBrowsersOfUser(user_id, trust),
  ...endRecovery(user_id, { actor: 'system' }, reason, at),
];

/** Ends what is under way, with its event; where nothing is, neither. @param words of an administrator, for the log. */
export const endRecovery = (
  user_id: UserId,
  caller: Caller,
  reason: RecoveryEnd,
  at: number,
  words?: string,
): Sql[] => [
  auditEvent(
    {
      action: 'factor_recovery.stopped',
      ...caller,
      target: user_id,
      reason: words ?? reason,
      onlyIf: hasRecoveryUnderWay(user_id, at),
    },
    at,
  ).statement,
  endFactorRecovery(user_id, reason, at),
];
