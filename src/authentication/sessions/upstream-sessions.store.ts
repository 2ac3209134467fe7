import type { Db } from '../../platform/db/db.ts';
import { askAll } from '../../platform/db/parts.ts';
import { id, row, text } from '../../platform/db/rows.ts';
import { allOf, sql } from '../../platform/db/sql.ts';
import type { SessionId, UserId } from '../../platform/ids.ts';

// Which rows of `sessions` rest on a session at a provider.

/** Of a provider: one of its sessions if `sid` is one; else all of a user that began until then. */
export type UpstreamEnd = { issuer: string; sid: string | undefined; until: number };

const UpstreamRef = row('sessions', { session_id: id<SessionId>(), user_id: id<UserId>(), upstream_subject: text });

/**
 * Sessions of a user that rest on what has ended upstream. A provider may not have named the session there of one: then it
 * is one of those that may be meant.
 */
export const sessionsOfUpstream = (
  db: Db,
  user_id: UserId,
  { issuer, subject, sid, until }: UpstreamEnd & { subject: string },
  limit: number,
) => {
  const isMeant =
    sid === undefined
      ? sql`upstream_at <= ${until}`
      : sql`(upstream_sid = ${sid} or upstream_sid is null and upstream_at <= ${until})`;
  return db.of(user_id).all(
    UpstreamRef,
    sql`select ${UpstreamRef.columns} from sessions
         where user_id = ${user_id} and upstream_issuer = ${issuer} and upstream_subject = ${subject}
           and ended_at is null and ${isMeant} limit ${limit}`,
  );
};

/** Sessions of any user that rest on a session at a provider. @param of.subject the account there, if it is known. */
export async function sessionsOfSid(
  db: Db,
  of: { issuer: string; sid: string; subject: string | undefined },
  limit: number,
) {
  const conditions = [
    sql`upstream_issuer = ${of.issuer}`,
    sql`upstream_sid = ${of.sid}`,
    sql`ended_at is null`,
    ...(of.subject === undefined ? [] : [sql`upstream_subject = ${of.subject}`]),
  ];
  const list = sql`select ${UpstreamRef.columns} from sessions where ${allOf(conditions)} limit ${limit}`;
  return (await askAll(db, (part) => part.all(UpstreamRef, list))).flat();
}
