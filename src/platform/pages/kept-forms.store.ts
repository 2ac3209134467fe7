import type { Db } from '../db/db.ts';
import { integer, type RowOf, row, text } from '../db/rows.ts';
import { sql } from '../db/sql.ts';

const KeptForm = row('kept_forms', { session_id: text, page: text, sealed: text, expires_at: integer });
type KeptForm = RowOf<typeof KeptForm>;

/** In place of the one that the session had. */
export const keepForm = (db: Db, form: KeptForm) =>
  db.of(form.session_id).run(
    sql`insert into kept_forms ${KeptForm.values(form)}
        on conflict (session_id) do update set page = excluded.page, sealed = excluded.sealed,
          expires_at = excluded.expires_at`,
  );

/** Of two requests for it at once, one gets it. */
export async function takeForm(
  db: Db,
  { session_id, page }: Pick<KeptForm, 'session_id' | 'page'>,
  now: number,
): Promise<string | undefined> {
  const Sealed = KeptForm.pick('sealed');
  const { rows } = await db.of(session_id).run(
    Sealed,
    sql`delete from kept_forms where session_id = ${session_id} and page = ${page} and expires_at > ${now}
        returning ${Sealed.columns}`,
  );
  return rows[0]?.sealed;
}
