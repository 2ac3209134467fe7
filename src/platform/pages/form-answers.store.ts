import type { Db } from '../db/db.ts';
import { integer, nullable, row, text } from '../db/rows.ts';
import { asBigint, incidental, sql } from '../db/sql.ts';

const FormAnswer = row('form_answers', {
  form_hash: text,
  sender: text,
  sealed: nullable(text),
  expires_at: integer,
});

type Claim = { form_hash: string; sender: string; expires_at: number };

/**
 * Of two requests with one form, one claims it.
 * @param max claims of one sender at a time.
 * @returns false if the form is claimed already, and beyond that maximum.
 */
export async function claimForm(db: Db, claim: Claim, max: number, now: number): Promise<boolean> {
  const { sender } = claim;
  const current = sql`select count(*) from form_answers where sender = ${sender} and expires_at > ${asBigint(now)}`;
  const { changes } = await db.near(claim.form_hash).run(
    incidental(
      sql`insert into form_answers ${FormAnswer.select({ ...claim, sealed: null })} where (${current}) < ${asBigint(max)}
          on conflict (form_hash) do update set sender = excluded.sender, sealed = null, expires_at = excluded.expires_at
            where form_answers.expires_at <= ${asBigint(now)}`,
    ),
  );
  return changes > 0;
}

/** Undefined if it is not claimed, or no longer. */
export const findFormAnswer = (db: Db, form_hash: string, now: number) => {
  const Sealed = FormAnswer.pick('sealed');
  return db
    .near(form_hash)
    .get(
      Sealed,
      sql`select ${Sealed.columns} from form_answers where form_hash = ${form_hash} and expires_at > ${asBigint(now)}`,
    );
};

export const keepFormAnswer = (db: Db, form_hash: string, sealed: string) =>
  db.near(form_hash).run(incidental(sql`update form_answers set sealed = ${sealed} where form_hash = ${form_hash}`));

/** The form may be sent once more. */
export const releaseForm = (db: Db, form_hash: string) =>
  db.near(form_hash).run(incidental(sql`delete from form_answers where form_hash = ${form_hash}`));
