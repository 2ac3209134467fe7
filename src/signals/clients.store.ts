import { clientsOfUser } from '../oauth/statements.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { choice, flag, id, row } from '../platform/db/rows.ts';
import { asBigint, asText, type Sql, sql } from '../platform/db/sql.ts';
import type { ClientId, StreamId } from '../platform/ids.ts';
import { streamStatuses } from './stream-status.ts';

// Which users the stream of a client is about. The table `signal_leavings`.

/** Whom a signal is about, and which clients may know of it. */
export type About = {
  user_id: string;
  /** Unix seconds of the act. */
  at: number;
  /** Only clients that may read it of the user. */
  scope?: string | undefined;
  /** Only clients that took part in it. */
  session_id?: string | undefined;
  /** Only clients that may see this group. */
  group_id?: string | undefined;
};

/** Ids of clients whose user it is, also one whom that very act has disabled or deleted. */
export const clientsOf = ({ user_id, at, scope, session_id }: About): Sql =>
  scope === undefined && session_id === undefined
    ? sql`${clientsOfUser(user_id, { at })}
          union all select client_id from signal_leavings where user_id = ${asText(user_id)} and counts_until >= ${asBigint(at)}`
    : clientsOfUser(user_id, { at, scope, session_id });

/** A condition: the user is one of the client's. */
export const isUserOf = (part: Part, client_id: ClientId, about: About): Promise<boolean> =>
  part.holds(sql`${client_id} in (${clientsOf(about)})`);

/**
 * For a change that ends all access of a user, before it does so: events about the user are for the clients of now until then.
 * @param until Unix seconds.
 */
export const rememberLeaving = (user_id: string, at: number, until: number): Sql =>
  sql`insert into signal_leavings (user_id, client_id, counts_until)
      select ${asText(user_id)}, s.client_id, ${asBigint(until)} from signal_streams s
       where s.client_id in (${clientsOf({ user_id, at })}) and s.deleted_at is null
      on conflict (user_id, client_id) do update set counts_until = excluded.counts_until`;

/** The user may have access again, by which clients are known. */
export const forgetLeaving = (user_id: string, at: number): Sql =>
  sql`update signal_leavings set counts_until = ${at} where user_id = ${user_id} and counts_until > ${at}`;

const StreamOfClient = row('signal_streams', {
  stream_id: id<StreamId>(),
  status: choice(...streamStatuses),
  has_client: flag,
});

/** Streams that are not disabled though their client is not approved, and those of clients that are deleted. */
export const streamsToStop = (db: Db) =>
  db.shared.all(
    StreamOfClient,
    sql`select s.stream_id, s.status, case when c.client_id is null then 0 else 1 end as has_client
          from signal_streams s left join clients c on c.client_id = s.client_id and c.status <> 'deleted'
         where s.client_id is not null and s.deleted_at is null
           and (c.client_id is null or c.status <> 'approved' and s.status <> 'disabled')
         order by s.stream_id limit 100`,
  );
