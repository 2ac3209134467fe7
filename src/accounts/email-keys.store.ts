import { mayConflict } from '../platform/db/change.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { sumOfAll } from '../platform/db/parts.ts';
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

export const usersWithOldKeys = (part: Part, after: string, limit: number) =>
  part.all(
    Keyed,
    sql`select ${Keyed.columns} from users where ${mayBeOld} and user_id > ${after} order by user_id limit ${limit}`,
  );

/** @returns false if another user has the key already; then the row refers to that user. */
export async function rewriteKey(part: Part, { user_id, email, email_key }: Keyed, now: number): Promise<boolean> {
  const key = emailKey(email);
  const readable = readableEmail(email);
  const done = await part.change({
    run: {
      user: mayConflict(rekey(user_id, { from: email_key, to: key, email: readable }, now)),
      terms: replaceTerms(user_id, 'email', readable),
    },
  });
  if (!done.ok) await part.run(referToMailbox(user_id, email_key, key));
  return done.ok;
}

const Applied = row('schema_migrations', { applied_at: integer });

/** When this store got its first key of today's kind. Unix seconds. */
export const keysBeganAt = async (part: Part): Promise<number | undefined> =>
  (await part.get(Applied, sql`select applied_at from schema_migrations where name = '0053-one-key-for-a-mailbox'`))
    ?.applied_at;

const SameMailbox = row('users', { users: integer });

/** How many accounts are the same mailbox as another one, up to {@link maxCounted}. */
export function countSameMailbox(db: Db): Promise<number> {
  const same = sql`select 1 as one from users where same_mailbox_as is not null and deleted_at is null limit ${maxCounted}`;
  const count = sql`select count(*) as users from (${same}) as part`;
  return sumOfAll(db, async (part) => (await part.get(SameMailbox, count))?.users ?? 0);
}
