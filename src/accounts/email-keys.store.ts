import { mayConflict } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { id, integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { maxCounted } from '../platform/db/slices.ts';
import { sql } from '../platform/db/sql.ts';
import { emailKey, readableEmail } from '../platform/email-address.ts';
import type { UserId } from '../platform/ids.ts';
import { referToMailbox, rekey } from './store.ts';
import { replaceTerms } from './terms.store.ts';

const Keyed = row('users', { user_id: id<UserId>(), email: text, email_key: text });
type Keyed = RowOf<typeof Keyed>;

/** In the words of the partial index. */
const mayBeOld = sql`email_key <> rtrim(replace(replace(email_key, 'xn--', ''), '。', ''), '.')`;

export const usersWithOldKeys = (db: Db, after: string, limit: number) =>
  db.all(
    Keyed,
    sql`select ${Keyed.columns} from users where ${mayBeOld} and user_id > ${after} order by user_id limit ${limit}`,
  );

/** @returns false if another user has the key already; then the row refers to that user. */
export async function rewriteKey(db: Db, { user_id, email, email_key }: Keyed, now: number): Promise<boolean> {
  const key = emailKey(email);
  const readable = readableEmail(email);
  const done = await db.change({
    run: {
      user: mayConflict(rekey(user_id, { from: email_key, to: key, email: readable }, now)),
      terms: replaceTerms(user_id, 'email', readable),
    },
  });
  if (!done.ok) await db.run(referToMailbox(user_id, email_key, key));
  return done.ok;
}

const Applied = row('schema_migrations', { applied_at: integer });

/** When this store got its first key of today's kind. Unix seconds. */
export const keysBeganAt = async (db: Db): Promise<number | undefined> =>
  (await db.get(Applied, sql`select applied_at from schema_migrations where name = '0053-one-key-for-a-mailbox'`))
    ?.applied_at;

const SameMailbox = row('users', { users: integer });

/** How many accounts are the same mailbox as another one, up to {@link maxCounted}. */
export async function countSameMailbox(db: Db): Promise<number> {
  const same = sql`select 1 as one from users where same_mailbox_as is not null and deleted_at is null limit ${maxCounted}`;
  return (await db.get(SameMailbox, sql`select count(*) as users from (${same}) as part`))?.users ?? 0;
}
