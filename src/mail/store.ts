import type { Db, Statement } from '../db/db.ts';

export type WaitingMail = { mail_id: string; message_sealed: string; attempts: number };

export const insertMail = (mail: { mail_id: string; message_sealed: string }, now: number): Statement => ({
  sql: `insert into outgoing_mails (mail_id, message_sealed, created_at, attempts, next_attempt_at)
        values ($1, $2, $3, 0, $3)`,
  params: [mail.mail_id, mail.message_sealed, now],
});

export const findDueMails = (db: Db, now: number, limit: number) =>
  db.all<WaitingMail>(
    `select mail_id, message_sealed, attempts from outgoing_mails where next_attempt_at <= $1
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

export const deleteMail = (db: Db, mail_id: string) =>
  db.run('delete from outgoing_mails where mail_id = $1', [mail_id]);
