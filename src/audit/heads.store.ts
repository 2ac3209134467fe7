import type { Part } from '../platform/db/db.ts';
import { integer, row, text } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';

const RecordedHead = row('audit_heads', { name: text, seq: integer, sealed: text });

/** `head`: the newest place. `accepted`: the last loss that was acknowledged, its number as `seq`. */
export const findHeads = (part: Part) => part.all(RecordedHead, sql`select ${RecordedHead.columns} from audit_heads`);

const SealedHead = row('audit_heads', { ...RecordedHead.fields, most_behind: integer });

/**
 * Changes nothing unless the chain has that place, and never goes back: another node may be ahead.
 * @param behind as `most_behind` of migration 0057, for what is sealed with it.
 */
export const storeHead = ({ seq, seal }: { seq: number; seal: string }, sealed: string, behind: number): Sql =>
  sql`insert into audit_heads ${SealedHead.select({ name: 'head', seq, sealed, most_behind: behind })}
       where exists (select 1 from audit_log where seq = ${seq} and seal = ${seal})
      on conflict (name) do update
        set seq = excluded.seq, sealed = excluded.sealed,
            most_behind = case when excluded.most_behind > audit_heads.most_behind
                               then excluded.most_behind else audit_heads.most_behind end
        where audit_heads.seq < excluded.seq`;

/** Also over a newer one. */
export const replaceHead = (seq: number, sealed: string): Sql => replaceNamed('head', seq, sealed);
export const storeAcceptance = (count: number, sealed: string): Sql => replaceNamed('accepted', count, sealed);

const replaceNamed = (name: string, seq: number, sealed: string): Sql =>
  sql`insert into audit_heads ${RecordedHead.values({ name, seq, sealed })}
      on conflict (name) do update set seq = excluded.seq, sealed = excluded.sealed`;
