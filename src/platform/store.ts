import type { Db } from './db/db.ts';
import { choice, integer, type RowOf, row, text } from './db/rows.ts';
import { type Sql, sql } from './db/sql.ts';

/** The newest of any server on this store. `at` is Unix seconds by the clock of that server. */
const Heartbeat = row('server_heartbeat', {
  node: text,
  at: integer,
  base_url: text,
  /** What it does with mail; `none` when SIGNET_SMTP_URL is missing off loopback. */
  mail: choice('smtp', 'log', 'none'),
});
export type Heartbeat = RowOf<typeof Heartbeat>;
export type MailMode = Heartbeat['mail'];

export const findHeartbeat = (db: Db) =>
  db.get(Heartbeat, sql`select ${Heartbeat.columns} from server_heartbeat where name = 'newest'`);

const StoredHeartbeat = row('server_heartbeat', { name: text, ...Heartbeat.fields });

export const storeHeartbeat = (db: Db, heartbeat: Heartbeat) =>
  db.run(
    sql`insert into server_heartbeat ${StoredHeartbeat.values({ name: 'newest', ...heartbeat })}
        on conflict (name) do update set
          node = excluded.node, at = excluded.at, base_url = excluded.base_url, mail = excluded.mail`,
  );

const Check = row('master_key_check', { sealed: text });

/** Keeps the first check ever written; later ones are ignored. */
export const keepMasterKeyCheck = (db: Db, sealed: string) =>
  db.run(sql`insert into master_key_check (id, sealed) values ('check', ${sealed}) on conflict do nothing`);

/** Empty before the first start. */
export const findMasterKeyCheck = async (db: Db): Promise<string> =>
  (await db.get(Check, sql`select sealed from master_key_check where id = 'check'`))?.sealed ?? '';

const WaitingMail = row('outgoing_mails', {
  mail_id: text,
  message_sealed: text,
  created_at: integer,
  attempts: integer,
});
export type WaitingMail = RowOf<typeof WaitingMail>;

const NewMail = row('outgoing_mails', { ...WaitingMail.fields, next_attempt_at: integer });

/** @param onlyIf a condition, read when the statements before it have had their effect. */
export const insertMail = (
  mail: Pick<WaitingMail, 'mail_id' | 'message_sealed'>,
  now: number,
  onlyIf = sql`1 = 1`,
): Sql =>
  sql`insert into outgoing_mails ${NewMail.select({ ...mail, created_at: now, attempts: 0, next_attempt_at: now })}
       where ${onlyIf}`;

export const findDueMails = (db: Db, now: number, limit: number) =>
  db.all(
    WaitingMail,
    sql`select ${WaitingMail.columns} from outgoing_mails where next_attempt_at <= ${now}
         order by next_attempt_at limit ${limit}`,
  );

/** Takes a mail for this node: of several that try, the one that still finds `attempts` as it was. */
export async function claimMail(db: Db, { mail_id, attempts }: WaitingMail, next_attempt_at: number): Promise<boolean> {
  const { changes } = await db.run(
    sql`update outgoing_mails set attempts = attempts + 1, next_attempt_at = ${next_attempt_at}
         where mail_id = ${mail_id} and attempts = ${attempts}`,
  );
  return changes === 1;
}

/** After an attempt that failed, unless another node has claimed it since. @param mail as it was before the claim. */
export const postponeMail = (db: Db, { mail_id, attempts }: WaitingMail, next_attempt_at: number) =>
  db.run(
    sql`update outgoing_mails set next_attempt_at = ${next_attempt_at}
         where mail_id = ${mail_id} and attempts = ${attempts + 1}`,
  );

export const deleteMail = (db: Db, mail_id: string) =>
  db.run(sql`delete from outgoing_mails where mail_id = ${mail_id}`);

export const deleteMailsBefore = (db: Db, created_before: number) =>
  db.run(sql`delete from outgoing_mails where created_at < ${created_before}`);
