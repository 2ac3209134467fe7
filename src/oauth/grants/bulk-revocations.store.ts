import type { RevocationReason } from '../../authentication/ports.ts';
import type { Db, Param, Statement } from '../../platform/db/db.ts';

/** Which grants end together: a client's, or a user's, all of them or some. */
export type RevocationScope =
  | { client_id: string }
  | { user_id: string; client_id?: string; session_id?: string; kept_session_id?: string };

/** A mass end whose grants are not all written yet. Times are Unix seconds. */
export type BulkRevocation = {
  ending_id: string;
  client_id: string | null;
  user_id: string | null;
  session_id: string | null;
  kept_session_id: string | null;
  /** Of the user, else of the client: grants of an earlier epoch are covered. */
  epoch: number;
  reason: RevocationReason;
  ended_at: number;
};

/** Endings that cover a grant, for `exists (select 1 …)` in a statement on the table `grants`. */
const covering = `from grant_endings e
   where (e.client_id = grants.client_id and e.user_id is null and e.epoch > grants.client_epoch)
      or (e.user_id = grants.user_id and e.epoch > grants.user_epoch
          and (e.client_id is null or e.client_id = grants.client_id)
          and (e.session_id is null or e.session_id = grants.session_id)
          and (e.kept_session_id is null or e.kept_session_id <> grants.session_id))`;

/**
 * The grant has ended with many others, whether or not the job has come to its row. Belongs beside every
 * `revoked_at is null` that decides what a grant is worth.
 */
export const isRevokedInBulk = `exists (select 1 ${covering})`;

/** When and why, as the job will write it; null for a grant that no ending covers. */
export const pendingRevocation = (column: 'ended_at' | 'reason') =>
  `(select e.${column} ${covering} order by e.ended_at, e.epoch limit 1)`;

/** Both, for the select list of a query on `grants`: of the row, or as the job will write them. */
export const effectiveRevocation = `coalesce(revoked_at, ${pendingRevocation('ended_at')}) as revoked_at,
            coalesce(revoked_reason, ${pendingRevocation('reason')}) as revoked_reason`;

const comparisons = {
  user_id: 'user_id =',
  client_id: 'client_id =',
  session_id: 'session_id =',
  kept_session_id: 'session_id <>',
};
type ScopeColumn = keyof typeof comparisons;

/** The condition on the table `grants` that a scope stands for, its placeholders from `$1`. */
export function inScope(scope: Readonly<Partial<Record<ScopeColumn, string | null>>>): {
  sql: string;
  params: string[];
} {
  const given = (Object.keys(comparisons) as ScopeColumn[]).flatMap((column): [string, string][] => {
    const id = scope[column];
    return id == null ? [] : [[comparisons[column], id]];
  });
  return {
    sql: given.map(([comparison], index) => `${comparison} $${index + 1}`).join(' and '),
    params: given.map(([, id]) => id),
  };
}

/**
 * Nothing when every grant of the scope has its end on the row already. Follows the statement that raises the epoch:
 * a grant that is made later is not covered.
 */
export function insertBulkRevocation(
  ending: Pick<BulkRevocation, 'ending_id' | 'reason' | 'ended_at'>,
  scope: RevocationScope,
): Statement {
  const none = { user_id: null, client_id: null, session_id: null, kept_session_id: null };
  const { user_id, client_id, session_id, kept_session_id } = { ...none, ...scope };
  const left = inScope(scope);
  const epoch =
    user_id === null
      ? '(select grants_epoch from clients where client_id = $2)'
      : '(select grants_epoch from users where user_id = $3)';
  const condition = left.sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + 7}`);
  return {
    sql: `insert into grant_endings (ending_id, client_id, user_id, session_id, kept_session_id, epoch, reason, ended_at)
          select $1, cast($2 as text), cast($3 as text), cast($4 as text), cast($5 as text), ${epoch}, $6, cast($7 as bigint)
           where exists (select 1 from grants where ${condition} and revoked_at is null)`,
    params: [
      ending.ending_id,
      client_id,
      user_id,
      session_id,
      kept_session_id,
      ending.reason,
      ending.ended_at,
      ...left.params,
    ],
  };
}

/** Oldest first, so that a grant that two of them cover gets the earlier reason. */
export const listBulkRevocations = (db: Db, limit: number) =>
  db.all<BulkRevocation>('select * from grant_endings order by ended_at, epoch limit $1', [limit]);

/** The condition on the table `grants` for those that an ending covers and that do not carry their end yet. */
export function notYetApplied(ending: BulkRevocation): { sql: string; params: Param[] } {
  const { sql, params } = inScope(ending);
  const epoch = ending.user_id === null ? 'client_epoch' : 'user_epoch';
  return {
    sql: `${sql} and revoked_at is null and ${epoch} < $${params.length + 1}`,
    params: [...params, ending.epoch],
  };
}

/**
 * Only once no grant that it covers is left to be written. The statement itself looks: on PostgreSQL a slice that finds
 * its rows just written by another node changes fewer than it might, with others left.
 */
export function deleteBulkRevocation(db: Db, ending: BulkRevocation) {
  const { sql, params } = notYetApplied(ending);
  return db.run(
    `delete from grant_endings
      where ending_id = $${params.length + 1} and not exists (select 1 from grants where ${sql})`,
    [...params, ending.ending_id],
  );
}
