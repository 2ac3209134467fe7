import type { Db, Part } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import { digest, type UserId } from '../../platform/ids.ts';
import { hasTotp } from '../credentials/two-factor.store.ts';

const day = 86_400;
/** For which the mailed link works once the time of waiting is over. */
export const recoveryLinkDays = 7;
const linkSeconds = recoveryLinkDays * day;
/** After an end, until another one may be asked for: who has the password alone must not wear its owner out with mails. */
const pauseSeconds = 7 * day;

const FactorRecovery = row('factor_recoveries', {
  user_id: id<UserId>(),
  /** The address of the account, to which the link goes. With another one the request is over. */
  email: text,
  requested_at: integer,
  /** From then on the link is mailed and works. */
  due_at: integer,
  /** The next mail: the reminder, then the link. Null: both are out. */
  notify_at: nullable(integer),
  /** Until then the link works; or, of one that has ended, none may be asked for. */
  expires_at: integer,
  /** Null: under way. */
  ended_at: nullable(integer),
  address: nullable(text),
  user_agent: nullable(text),
});
export type FactorRecovery = RowOf<typeof FactorRecovery>;

const StoredRecovery = row('factor_recoveries', { ...FactorRecovery.fields, stop_hash: text });

/** Why it ended, beside the link that stops it and an administrator. */
export type RecoveryEnd = 'stopped' | 'administrator' | 'signed_in' | 'account_changed' | 'password_changed';

/**
 * The account still is what it was when it was asked for: that address, proved; not disabled; without a role, since of those who
 * administer another one helps; and with a second factor to remove.
 */
export const mayRecover = (user_id: UserId, email: string): Sql =>
  sql`exists (select 1 from users u where u.user_id = ${user_id} and u.email = ${email}
               and u.email_verified_at is not null and u.disabled_at is null and u.role = 'user')
      and ${hasTotp(user_id)}`;

const isUnderWay = (now: number): Sql => sql`ended_at is null and expires_at > ${now}`;

export const hasRecoveryUnderWay = (user_id: UserId, now: number): Sql =>
  sql`exists (select 1 from factor_recoveries where user_id = ${user_id} and ${isUnderWay(now)})`;

/** Under way, or ended so lately that there may not be another one yet. */
export const findFactorRecovery = (db: Db, user_id: UserId, now: number) =>
  db
    .of(user_id)
    .get(
      FactorRecovery,
      sql`select ${FactorRecovery.columns} from factor_recoveries where user_id = ${user_id} and expires_at > ${now}`,
    );

type NewRecovery = Pick<FactorRecovery, 'user_id' | 'email' | 'due_at' | 'notify_at' | 'address' | 'user_agent'> & {
  stop_hash: string;
};

/** Changes nothing while there is one. */
export function insertFactorRecovery(recovery: NewRecovery, now: number): Sql {
  const { user_id, ...others } = recovery;
  const stored = { ...others, requested_at: now, expires_at: recovery.due_at + linkSeconds, ended_at: null };
  return sql`insert into factor_recoveries ${StoredRecovery.values({ user_id, ...stored })}
      on conflict (user_id) do update set ${StoredRecovery.set(stored)}, end_reason = null, reminder_hash = null,
        link_hash = null
      where factor_recoveries.expires_at <= ${now}`;
}

/** Changes nothing unless one is under way. A new password is none that an attacker knows: another one may be asked for at once. */
export const endFactorRecovery = (user_id: UserId, reason: RecoveryEnd, now: number): Sql =>
  sql`update factor_recoveries
         set ended_at = ${now}, end_reason = ${reason}, notify_at = null,
             expires_at = ${reason === 'password_changed' ? now : now + pauseSeconds}
       where user_id = ${user_id} and ${isUnderWay(now)}`;

/** Any of the mailed links stops it. @param token its secret, which says in which part the user is. */
export const findRecoveryToStop = (db: Db, token: string, now: number) => {
  const hash = digest(token);
  return db.of(token).get(
    FactorRecovery,
    sql`select ${FactorRecovery.columns} from factor_recoveries
         where (stop_hash = ${hash} or reminder_hash = ${hash} or link_hash = ${hash}) and ${isUnderWay(now)}`,
  );
};

const isOpenLink = (token: string, now: number): Sql => sql`link_hash = ${digest(token)} and ${isUnderWay(now)}`;

/** By the link that removes the factors. */
export const findRecoveryByLink = (db: Db, token: string, now: number) =>
  db
    .of(token)
    .get(FactorRecovery, sql`select ${FactorRecovery.columns} from factor_recoveries where ${isOpenLink(token, now)}`);

/** For the change that removes the factors: changes nothing if it ended meanwhile. */
export const deleteRecoveryByLink = (user_id: UserId, token: string, now: number): Sql =>
  sql`delete from factor_recoveries where user_id = ${user_id} and ${isOpenLink(token, now)}`;

/** Those of which a mail is due. */
export const recoveriesToMail = (part: Part, now: number, rows: number) =>
  part.all(
    FactorRecovery,
    sql`select ${FactorRecovery.columns} from factor_recoveries
         where notify_at <= ${now} and ended_at is null order by notify_at limit ${rows}`,
  );

/** For the change that enqueues that mail: of two nodes, one does it. `hash`: of the secret in it. */
type Mailed = Pick<FactorRecovery, 'user_id' | 'notify_at' | 'due_at'> & { hash: string };

export const noteReminder = ({ user_id, notify_at, due_at, hash }: Mailed): Sql =>
  sql`update factor_recoveries set notify_at = ${due_at}, reminder_hash = ${hash}
       where user_id = ${user_id} and notify_at = ${notify_at} and ended_at is null`;

/** The link works for its time from now on, also if the mail is late. */
export const noteLink = ({ user_id, notify_at, hash }: Mailed, now: number): Sql =>
  sql`update factor_recoveries set notify_at = null, link_hash = ${hash}, expires_at = ${now + linkSeconds}
       where user_id = ${user_id} and notify_at = ${notify_at} and ended_at is null`;
