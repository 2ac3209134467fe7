import type { RevocationReason } from '../../authentication/deps.ts';
import type { Part } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { allOf, asBigint, asText, raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, SessionId, UserId } from '../../platform/ids.ts';

/** Which grants are revoked together: a client's, or a user's, all of them or some. */
export type RevocationScope = { client_id: ClientId } | ScopeOfUser;
export type ScopeOfUser = {
  user_id: UserId;
  client_id?: ClientId;
  session_id?: SessionId;
  kept_session_id?: SessionId;
};

const BulkRevocation = row('grant_endings', {
  ending_id: text,
  client_id: nullable(id<ClientId>()),
  user_id: nullable(id<UserId>()),
  session_id: nullable(id<SessionId>()),
  kept_session_id: nullable(id<SessionId>()),
  /** Of the user, or else of the client: grants of an earlier epoch are covered. */
  epoch: integer,
  reason: id<RevocationReason>(),
  ended_at: integer,
});
/** Revokes many grants, not all of which say so on their rows yet. Times are Unix seconds. */
export type BulkRevocation = RowOf<typeof BulkRevocation>;

/** The bulk revocations that cover a grant, for `exists (select 1 …)` in a statement on the table `grants`. */
const covers = sql`(e.client_id = grants.client_id and e.user_id is null and e.epoch > grants.client_epoch)
      or (e.user_id = grants.user_id and e.epoch > grants.user_epoch
          and (e.client_id is null or e.client_id = grants.client_id)
          and (e.session_id is null or e.session_id = grants.session_id)
          and (e.kept_session_id is null or e.kept_session_id <> grants.session_id))`;
const covering = sql`from grant_endings e
   where ${covers}`;

/**
 * A condition: the grant was revoked with many others, whether or not its row says so yet. Belongs beside every
 * `revoked_at is null` that decides whether a grant is active.
 */
export const isRevokedInBulk = sql`exists (select 1 ${covering})`;

/** The same of one that was made before this second. */
export const wasRevokedInBulk = (before: Sql): Sql =>
  sql`exists (select 1 from grant_endings e where e.ended_at < ${before} and (${covers}))`;

const firstCovering = (column: string): Sql =>
  sql`(select e.${raw(column)} ${covering} order by e.ended_at, e.epoch limit 1)`;
/** What the job will write to the row; null for a grant that no bulk revocation covers. */
export const pendingRevocation = { ended_at: firstCovering('ended_at'), reason: firstCovering('reason') };

/** For the select list of a query on `grants`: the revocation on the row, or the one that the job will write. */
export const effectiveRevocation = sql`coalesce(revoked_at, ${pendingRevocation.ended_at}) as revoked_at,
            coalesce(revoked_reason, ${pendingRevocation.reason}) as revoked_reason`;

type ScopeColumn = 'user_id' | 'client_id' | 'session_id' | 'kept_session_id';

/** Rows that a revocation may write within a request: some milliseconds on SQLite, which answers nothing else meanwhile. */
const fewRows = 100;

type ScopeColumns = Readonly<Partial<Record<ScopeColumn, string | null>>>;

/** The condition on the table `grants` that a scope stands for. */
function inScope(scope: ScopeColumns): Sql {
  const { session_id, kept_session_id } = scope;
  return allOf([
    foundByIndex(scope),
    ...(session_id ? [sql`session_id = ${session_id}`] : []),
    ...(kept_session_id ? [sql`session_id <> ${kept_session_id}`] : []),
  ]);
}

/** All grants of the user or the client: which of them came from a session, only their rows say. */
const foundByIndex = ({ user_id, client_id }: ScopeColumns): Sql =>
  allOf([...(user_id ? [sql`user_id = ${user_id}`] : []), ...(client_id ? [sql`client_id = ${client_id}`] : [])]);

/**
 * A condition: those that are not revoked, also of other sessions, are few. Reads an index, and no more of it than that.
 */
const areFew = (scope: RevocationScope): Sql =>
  sql`(select count(*) from (select 1 as one from grants where ${foundByIndex(scope)} and revoked_at is null
         limit ${raw(`${fewRows + 1}`)}) as few) <= ${raw(`${fewRows}`)}`;

/** A condition on the grants that a revocation may write within a request: those of its scope, if they are few. */
export const writtenAtOnce = (scope: RevocationScope): Sql =>
  sql`${inScope(scope)} and revoked_at is null and ${areFew(scope)}`;

/**
 * Inserts nothing if every grant of the scope is revoked on its row already, as far as a look at a few can tell. Grants that are made
 * after the epoch was raised are not covered: a user's is raised before this, a client's after it.
 */
export function insertBulkRevocation(
  revocation: Pick<BulkRevocation, 'ending_id' | 'reason' | 'ended_at'>,
  scope: RevocationScope,
): Sql {
  const none = { user_id: null, client_id: null, session_id: null, kept_session_id: null };
  const { user_id, client_id, session_id, kept_session_id } = { ...none, ...scope };
  const epoch =
    user_id === null
      ? sql`(select grants_epoch + 1 from clients where client_id = ${client_id})`
      : sql`(select grants_epoch from users where user_id = ${user_id})`;
  return sql`insert into grant_endings (ending_id, client_id, user_id, session_id, kept_session_id, epoch, reason, ended_at)
      select ${revocation.ending_id}, ${asText(client_id)}, ${asText(user_id)}, ${asText(session_id)},
             ${asText(kept_session_id)}, ${epoch}, ${revocation.reason}, ${asBigint(revocation.ended_at)}
       where case when ${areFew(scope)} then exists (select 1 from grants where ${inScope(scope)} and revoked_at is null)
                  else 1 = 1 end`;
}

/** Seconds in which what a suspension or deletion has left is looked for, so that all parts of the store were there again. */
const cutOffSeconds = 7 * 86_400;

/**
 * Of a part: ends the grants of clients whose suspension was cut off before it came here, or whose deletion, of which they are notified. By one statement, whose epoch is the one of the
 * suspended client: grants that are given after a reinstatement are not covered. The row of an earlier suspension does not count as that
 * of this one; a client that was edited since gets another, of which there is one for each epoch.
 */
export const endGrantsOfSuspended = (now: number): Sql =>
  sql`insert into grant_endings (ending_id, client_id, user_id, session_id, kept_session_id, epoch, reason, ended_at)
      select c.client_id || ' ' || cast(c.grants_epoch as text), c.client_id, null, null, null, c.grants_epoch + 1, 'client_suspended', ${asBigint(now)}
        from clients c
       where (c.status = 'suspended' or c.status = 'deleted' and c.backchannel_logout_uri is not null) and c.updated_at > ${now - cutOffSeconds}
         and exists (select 1 from grants g where g.client_id = c.client_id and g.revoked_at is null)
         and not exists (select 1 from grant_endings e
                          where e.client_id = c.client_id and e.user_id is null and e.ended_at >= c.updated_at)
       limit ${raw(`${fewRows}`)}
      on conflict (ending_id) do nothing`;

export type BulkRevocationPlace = Pick<BulkRevocation, 'ended_at' | 'epoch' | 'ending_id'>;

/** Oldest first, so that a grant that two of them cover gets the earlier reason. */
export const listBulkRevocations = (part: Part, { ended_at, epoch, ending_id }: BulkRevocationPlace, limit: number) =>
  part.all(
    BulkRevocation,
    sql`select ${BulkRevocation.columns} from grant_endings
         where (ended_at, epoch, ending_id) > (${asBigint(ended_at)}, ${asBigint(epoch)}, ${ending_id})
         order by ended_at, epoch, ending_id limit ${limit}`,
  );

/** The condition on the table `grants` for all that are covered, whether or not their rows say so yet. */
export const coveredBy = (revocation: BulkRevocation): Sql =>
  sql`${inScope(revocation)} and ${raw(revocation.user_id === null ? 'client_epoch' : 'user_epoch')} < ${revocation.epoch}`;

/** The same for those whose rows do not say so yet. */
export const notYetApplied = (revocation: BulkRevocation): Sql => sql`${coveredBy(revocation)} and revoked_at is null`;

/** Those of a part, by their ids. */
export const bulkRevocationsAfter = (part: Part, since: number, after: string, limit: number) =>
  part.all(
    BulkRevocation,
    sql`select ${BulkRevocation.columns} from grant_endings
         where ended_at > ${asBigint(since)} and ending_id > ${after} order by ending_id limit ${limit}`,
  );

/** The place of one that has no row, but a client. */
export type ClientPlace = Pick<BulkRevocation, 'ended_at' | 'ending_id'>;

/**
 * What revokes all grants of a client without a row of `grant_endings`: its deletion, and a suspension that has not come to this part. Of
 * both, the status of the client says so from the moment on in which they count. A suspended client of which no grant is active any more is
 * left out: each edit would have all of its grants read again.
 */
export const endedClientsAfter = (part: Part, { ended_at, ending_id }: ClientPlace, limit: number) =>
  part.all(
    BulkRevocation,
    sql`select c.client_id as ending_id, c.client_id, cast(null as text) as user_id, cast(null as text) as session_id,
               cast(null as text) as kept_session_id, c.grants_epoch + 1 as epoch, 'client_suspended' as reason, c.updated_at as ended_at
          from clients c
         where c.status in ('deleted', 'suspended') and (c.status = 'deleted' or c.status = 'suspended'
               and exists (select 1 from grants g where g.client_id = c.client_id and g.revoked_at is null)
               and not exists (select 1 from grant_endings e where e.client_id = c.client_id and e.user_id is null and e.epoch >= c.grants_epoch))
           and c.updated_at >= ${asBigint(ended_at)} and (c.updated_at, c.client_id) > (${asBigint(ended_at)}, ${ending_id})
         order by c.updated_at, c.client_id limit ${limit}`,
  );

/**
 * Only once it is on the row of every grant that it covers. The statement itself looks: on PostgreSQL a slice whose rows
 * were just written by another node changes fewer than it could, although others are left.
 * @param isOver whether all tokens that it covers have expired. Before, only that of a client which is being deleted goes: the deletion waits
 * for it, and is known to lists by itself.
 */
export const deleteBulkRevocation = (part: Part, revocation: BulkRevocation, isOver: boolean) =>
  part.run(
    sql`delete from grant_endings where ending_id = ${revocation.ending_id}
           and not exists (select 1 from grants where ${notYetApplied(revocation)})
           and ${isOver ? sql`1 = 1` : sql`exists (select 1 from clients c where c.client_id = grant_endings.client_id and c.status = 'deleted')`}`,
  );
