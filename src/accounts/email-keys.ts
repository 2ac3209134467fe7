import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import { emailKey } from '../platform/email-address.ts';
import { keysBeganAt, rewriteKey, usersWithOldKeys } from './email-keys.store.ts';

/** Nodes of the version before may run for so long: they find an address by the key that they wrote. */
const upgradeSeconds = 86_400;

/**
 * Writes the keys anew that a version without UTS 46 has written. Safe on every node at any time; after a crash the next run
 * continues. Of two accounts that are one mailbox the second keeps its key, and refers to the first.
 * @returns false if the signal ended it before all was done.
 */
export async function rewriteEmailKeys(
  { db: part, clock, log }: Pick<Deps, 'clock' | 'log'> & { db: Part },
  signal?: AbortSignal,
): Promise<boolean> {
  const at = now({ clock });
  const began = await keysBeganAt(part);
  if (began === undefined || at < began + upgradeSeconds) return true;
  let after = '';
  let same = 0;
  const isDone = await inSlices(async (rows) => {
    const users = await usersWithOldKeys(part, after, rows);
    after = users.at(-1)?.user_id ?? after;
    for (const user of users) {
      if (emailKey(user.email) !== user.email_key && !(await rewriteKey(part, user, at))) same += 1;
    }
    return users.length;
  }, signal);
  if (same > 0)
    log.warn(
      { users: same },
      'some accounts have the same mailbox as another one: signet users list --filter same_mailbox',
    );
  return isDone;
}
