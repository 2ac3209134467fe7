import type { Db } from '../platform/db/db.ts';
import { integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { sql } from '../platform/db/sql.ts';

const Lease = row('apply_leases', {
  holder: text,
  /** For people. */
  held_by: text,
  /** Unix seconds, as below. */
  held_since: integer,
  held_until: integer,
});
type Lease = RowOf<typeof Lease>;
const NewLease = row('apply_leases', { name: text, ...Lease.fields });

/** There is one for the store. */
const name = 'apply';

export const findLease = (db: Db) =>
  db.shared.get(Lease, sql`select ${Lease.columns} from apply_leases where name = ${name}`);

/** @returns false while another one holds it. */
export async function takeLease(db: Db, lease: Lease): Promise<boolean> {
  const { changes } = await db.shared.run(
    sql`insert into apply_leases ${NewLease.values({ name, ...lease })}
        on conflict (name) do update set
          holder = excluded.holder, held_by = excluded.held_by,
          held_since = excluded.held_since, held_until = excluded.held_until
        where apply_leases.held_until <= ${lease.held_since}`,
  );
  return changes > 0;
}

/** @returns false if another one has taken it over. */
export async function renewLease(db: Db, holder: string, held_until: number): Promise<boolean> {
  const { changes } = await db.shared.run(
    sql`update apply_leases set held_until = ${held_until} where name = ${name} and holder = ${holder}`,
  );
  return changes > 0;
}

export const endLease = (db: Db, holder: string) =>
  db.shared.run(sql`delete from apply_leases where name = ${name} and holder = ${holder}`);
