import { integer, nullable, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';

/**
 * Of the row of a grant, who got its tokens. Two parties are remembered, so that a use by a thief does not erase who was there before; each
 * as one short text, so that the statement that rotates compares and writes it without a read.
 */
export const uses = {
  /** The last one. */
  used_by: nullable(text),
  /** The one before another came. */
  used_before_by: nullable(text),
  /** How far that one got in the sequence, and when. */
  used_before_seq: nullable(integer),
  used_before_at: nullable(integer),
};

/** Assignments of an update on `grants` that issues tokens. Those of the same party again change nothing. */
export function noteUse(used_by: string): Sql {
  const isAnother = sql`refresh_seq > 0 and used_by is distinct from ${used_by}`;
  const kept = (name: Sql, next: Sql) => sql`case when ${isAnother} then ${next} else ${name} end`;
  return sql`, used_before_by = ${kept(sql`used_before_by`, sql`used_by`)},
               used_before_seq = ${kept(sql`used_before_seq`, sql`refresh_seq`)},
               used_before_at = ${kept(sql`used_before_at`, sql`refreshed_at`)}, used_by = ${used_by}`;
}
