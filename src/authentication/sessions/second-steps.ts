import type { Sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import { deleteMailCodesOfUser } from './mail-codes.store.ts';
import { deletePendingSignInsOfUser } from './pending-sign-ins.store.ts';
import { deleteTrustedBrowsersOfUser } from './trusted-browsers.store.ts';

/**
 * For a change of password, factors or ways to sign in, and for the end of all access: a sign-in that began before has to start
 * again, and no browser stands in for the second factor any more.
 * @param kept `trusted_by` of the session that makes the change, where its browser stays trusted.
 */
export const endSecondSteps = (user_id: UserId, kept?: string | null): Sql[] => [
  deletePendingSignInsOfUser(user_id),
  deleteMailCodesOfUser(user_id),
  deleteTrustedBrowsersOfUser(user_id, kept),
];
