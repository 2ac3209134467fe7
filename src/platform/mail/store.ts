import { type Condition, insertIf } from '../../audit/store.ts';
import type { Db, Statement } from '../db/db.ts';

export type WaitingMail = { mail_id: string; message_sealed: string; created_at: number; attempts: number };

export const insertMail = (
  mail: { mail_id: string; message_sealed: string },
  now: number,
  onlyIf: Condition | undefined,
): Statement =>
  insertIf(
    {
      sql: `insert into outgoing_mails (mail_id, message_sealed, created_at, attempts, next_attempt_at)
            select $1, $2, cast($3 as bigint), 0, cast($3 as bigint)`,
      params: [mail.mail_id, mail.message_sealed, now],
    },
    onlyIf,
  );

export const findDueMails = (db: Db, now: number, limit: number) =>
  db.all<WaitingMail>(
    `select mail_id, message_sealed, created_at, attempts from outgoing_mails where next_attempt_at <= $1
      order by next_attempt_at limit $2`,
    [now, limit],
  );

/** Takes a mail for this node: of several that try, the one that still finds `attempts` as it was. */
export async function claimMail(db: Db, mail: WaitingMail, next_attempt_at: number): Promise<boolean> {
  const { changes } = await db.run(
    `update outgoing_mails set attempts = attempts + 1, next_attempt_at = $3 where mail_id = $1 and attempts = $2`,
    [mail.mail_id, mail.attempts, next_attempt_at],
  );
  return changes === 1;
}

/** After an attempt that failed, unless somebody has claimed it since. @param mail as it was before the claim. */
export const postponeMail = (db: Db, mail: WaitingMail, next_attempt_at: number) =>
  db.run('update outgoing_mails set next_attempt_at = $3 where mail_id = $1 and attempts = $2', [
    mail.mail_id,
    mail.attempts + 1,
    next_attempt_at,
  ]);

export const deleteMail = (db: Db, mail_id: string) =>
  db.run('delete from outgoing_mails where mail_id = $1', [mail_id]);

export const deleteMailsBefore = (db: Db, created_before: number) =>
  db.run('delete from outgoing_mails where created_at < $1', [created_before]);
