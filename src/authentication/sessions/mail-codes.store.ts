import { isAddressed } from '../../accounts/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import { digest, type RequestId, type UserId } from '../../platform/ids.ts';

/** The time of a sign-in under way (decisions §3). */
export const mailCodeSeconds = 600;
/** With eight digits, and what is counted beyond one code, as for passwords. */
export const triesPerMailCode = 5;

const MailCode = row('mail_codes', {
  /** Null for an address without an account that may sign in by it: no code is right then. */
  user_id: nullable(id<UserId>()),
  /** As it was typed. */
  email: text,
  code_hash: text,
  request_id: nullable(id<RequestId>()),
  next: nullable(text),
});
export type MailCode = RowOf<typeof MailCode>;

const CountedMailCode = row('mail_codes', { ...MailCode.fields, failures: integer });

/**
 * The account has that address, has proved it, and is not disabled. Who has not proved it may have been given the account by an
 * attacker, who knows its password.
 */
export const maySignInByMail = (user_id: UserId, email: string): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and ${isAddressed(email)}
               and email_verified_at is not null and disabled_at is null)`;

type NewMailCode = Omit<MailCode, 'user_id'> & { token_hash: string; user_id: UserId };

/** The same statement whether or not there is such an account. */
export const insertMailCode = (
  { token_hash, user_id, email, code_hash, request_id, next }: NewMailCode,
  now: number,
): Sql =>
  sql`insert into mail_codes (token_hash, user_id, email, code_hash, failures, request_id, next, created_at, expires_at)
      values (${token_hash}, (select u.user_id from users u where u.user_id = ${user_id} and ${maySignInByMail(user_id, email)}),
              ${email}, ${code_hash}, 0, ${request_id}, ${next}, ${now}, ${now + mailCodeSeconds})`;

const isOpen = (token: string, now: number): Sql =>
  sql`token_hash = ${digest(token)} and expires_at > ${now} and failures < ${triesPerMailCode}`;

export const findMailCode = (db: Db, token: string, now: number) =>
  db.of(token).get(MailCode, sql`select ${MailCode.columns} from mail_codes where ${isOpen(token, now)}`);

/** Consumes a try before the code is compared, so that simultaneous guesses cannot exceed the maximum. */
export async function consumeMailCodeTry(db: Db, token: string, now: number) {
  const { rows } = await db
    .of(token)
    .run(
      CountedMailCode,
      sql`update mail_codes set failures = failures + 1 where ${isOpen(token, now)} returning ${CountedMailCode.columns}`,
    );
  const [found] = rows;
  return found && { ...found, triesLeft: triesPerMailCode - found.failures };
}

/** Uses the code up. Of two at once, one changes a row. */
export const deleteMailCode = (token: string): Sql => sql`delete from mail_codes where token_hash = ${digest(token)}`;

/** For a change of password, factors or address: a sign-in that began before has to start again. */
export const deleteMailCodesOfUser = (user_id: UserId): Sql => sql`delete from mail_codes where user_id = ${user_id}`;
