import type { Part } from '../db/db.ts';
import { isBeyondPauses, type Retried } from '../db/planned.ts';
import { integer, type RowOf, row, text } from '../db/rows.ts';
import { asBigint, asText, join, raw, type Sql, sql } from '../db/sql.ts';

const WaitingMail = row('outgoing_mails', {
  mail_id: text,
  message_sealed: text,
  created_at: integer,
  attempts: integer,
});
export type WaitingMail = RowOf<typeof WaitingMail>;

/**
 * `recipient_hash`, in the column `lane`: mails to one recipient are sent in turn with those to others. `isPrompt`: not behind those
 * that are not.
 */
type NewMail = Pick<WaitingMail, 'mail_id' | 'message_sealed'> & { recipient_hash: string; isPrompt: boolean };

/**
 * Its turn is the one after the last of its recipient's, or else the one that is sent now.
 * @param onlyIf a condition, read when the statements before it have had their effect.
 */
export function insertMail({ recipient_hash, isPrompt, ...mail }: NewMail, now: number, onlyIf = sql`1 = 1`): Sql {
  const isNew = sql`attempts = 0 and is_prompt = ${promptness(isPrompt)}`;
  const turn = sql`coalesce((select max(turn) + 1 from outgoing_mails where ${isNew} and lane = ${recipient_hash}),
                            (select min(turn) from outgoing_mails where ${isNew}), 0)`;
  return sql`insert into outgoing_mails
      (mail_id, message_sealed, created_at, attempts, next_attempt_at, is_prompt, lane, turn)
      select ${mail.mail_id}, ${mail.message_sealed}, ${asBigint(now)}, 0, ${asBigint(now)}, ${promptness(isPrompt)},
             ${asText(recipient_hash)}, ${turn}
       where ${onlyIf}`;
}

/** A constant, as partial indexes need it. */
const promptness = (isPrompt: boolean): Sql => raw(isPrompt ? '1' : '0');

/** `limit`: of each kind: new or to be tried again, prompt or not. So no kind waits for all of another. */
type DueMails = { now: number; limit: number };

export const findDueMails = (part: Part, due: DueMails) => part.all(WaitingMail, dueMails(due));

export function dueMails({ now, limit }: DueMails): Sql {
  const { columns } = WaitingMail;
  const some = (isPrompt: boolean, condition: Sql) =>
    sql`select ${columns} from (select ${columns} from outgoing_mails
         where is_prompt = ${promptness(isPrompt)} and ${condition} limit ${limit}) as part`;
  const isNew = sql`attempts = 0 order by turn, created_at`;
  const isAgain = sql`attempts > 0 and next_attempt_at <= ${now} order by next_attempt_at`;
  return join(
    [isNew, isAgain].flatMap((kind) => [some(true, kind), some(false, kind)]),
    ' union all ',
  );
}

/** Takes a mail for this node: of several that try, the one that still finds `attempts` as it was. */
export async function claimMail(
  part: Part,
  { mail_id, attempts }: WaitingMail,
  next_attempt_at: number,
): Promise<boolean> {
  const { changes } = await part.run(
    sql`update outgoing_mails set attempts = attempts + 1, next_attempt_at = ${next_attempt_at}
         where mail_id = ${mail_id} and attempts = ${attempts}`,
  );
  return changes === 1;
}

/** After an attempt that failed, unless another node has claimed it since. @param mail as it was before the claim. */
export const postponeMail = (part: Part, { mail_id, attempts }: WaitingMail, next_attempt_at: number) =>
  part.run(
    sql`update outgoing_mails set next_attempt_at = ${next_attempt_at}
         where mail_id = ${mail_id} and attempts = ${attempts + 1}`,
  );

/** Takes no part of a mail that is new, which has no date yet. */
export const bringMailsForward: Retried['bringForward'] = (part, at, rows) => {
  const isPlannedAhead = (isPrompt: boolean) =>
    sql`is_prompt = ${promptness(isPrompt)} and attempts > 0 and ${isBeyondPauses(sql`next_attempt_at`, at)}`;
  const some = (isPrompt: boolean) =>
    sql`select mail_id from (select mail_id from outgoing_mails where ${isPlannedAhead(isPrompt)} limit ${rows}) as part`;
  return part.run(
    sql`update outgoing_mails set next_attempt_at = ${at.now}
         where mail_id in (${some(true)} union all ${some(false)})`,
  );
};

export const deleteMail = (mail_id: string): Sql => sql`delete from outgoing_mails where mail_id = ${mail_id}`;

const Counted = row('outgoing_mails', { waiting: integer });

/** @param most it counts no further. */
export const countMails = async (part: Part, most: number): Promise<number> => {
  const some = (condition: Sql) =>
    sql`(select count(*) from (select 1 as one from outgoing_mails where ${condition} limit ${most}) as part)`;
  const counted = await part.get(
    Counted,
    sql`select ${some(sql`attempts = 0`)} + ${some(sql`attempts > 0`)} as waiting`,
  );
  return Math.min(counted?.waiting ?? 0, most);
};

export const deleteMailsBefore = (part: Part, created_before: number) =>
  part.run(sql`delete from outgoing_mails where created_at < ${created_before}`);
