import type { Db } from '../platform/db/db.ts';
import { id, integer, row } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { UserId } from '../platform/ids.ts';

const Declined = row('declined_review_mails', { user_id: id<UserId>(), declined_at: integer });

/** A condition of a statement in the part of that user. */
export const wantsReviewMails = (user_id: string): Sql =>
  sql`not exists (select 1 from declined_review_mails where user_id = ${user_id})`;

export const findDeclined = (db: Db, user_id: string) =>
  db.of(user_id).get(Declined, sql`select ${Declined.columns} from declined_review_mails where user_id = ${user_id}`);

/** Nothing for whom there is no more. */
export const declineReviewMails = (db: Db, user_id: UserId, declined_at: number) =>
  db.of(user_id).run(
    sql`insert into declined_review_mails ${Declined.select({ user_id, declined_at })}
         where exists (select 1 from users where user_id = ${user_id})
        on conflict (user_id) do nothing`,
  );

export const acceptReviewMails = (db: Db, user_id: string) =>
  db.of(user_id).run(sql`delete from declined_review_mails where user_id = ${user_id}`);
