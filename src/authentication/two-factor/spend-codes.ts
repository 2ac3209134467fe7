import type { OneDb } from '../../platform/db/db.ts';
import { deleteRows } from '../../platform/db/table-rows.ts';
import { refuseTimeSteps } from '../credentials/two-factor.store.ts';
import { stepAt } from './totp.ts';

/**
 * For a restore, which forgets what was used since the backup: of no user is a backup code accepted any more, nor a code that
 * an authenticator app may have shown until now.
 * @param slice deletes the rows of a slice after the other. @returns how many backup codes there were.
 */
export async function spendCodes(
  db: OneDb,
  at: number,
  slices: (slice: (rows: number) => Promise<number>) => Promise<number>,
): Promise<number> {
  const step = stepAt(at) + 1; // codes are accepted from the next step, too
  let after = '';
  await slices(async (rows) => {
    const users = await refuseTimeSteps(db, step, after, rows);
    after = users.reduce((last, user_id) => (user_id > last ? user_id : last), after);
    return users.length;
  });
  return slices(async (rows) => (await deleteRows(db, 'backup_codes', rows)).changes);
}
