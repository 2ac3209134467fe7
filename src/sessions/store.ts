import type { Condition } from '../audit/store.ts';
import type { Db, Statement } from '../db/db.ts';
import type { Role } from '../users/user.ts';

/** A live session with its person. */
export type SessionRow = {
  session_id: string;
  user_id: string;
  session_created_at: number;
  auth_time: number;
  amr: string;
  acr: string;
  last_seen_at: number;
  expires_at: number;
  email: string;
  email_verified_at: number | null;
  name: string | null;
  picture: string | null;
  role: Role;
  locale: string | null;
  user_created_at: number;
  user_updated_at: number;
};

/** Lives: not ended, neither idle nor absolute end reached, its person not disabled. */
const live = 's.ended_at is null and s.idle_expires_at > $2 and s.expires_at > $2 and u.disabled_at is null';

export const findLiveSession = (db: Db, token_hash: string, now: number) =>
  db.get<SessionRow>(
    `select s.session_id, s.user_id, s.created_at as session_created_at, s.auth_time, s.amr, s.acr, s.last_seen_at,
            s.expires_at, u.email, u.email_verified_at, u.name, u.picture, u.role, u.locale,
            u.created_at as user_created_at, u.updated_at as user_updated_at
       from sessions s join users u on u.user_id = s.user_id
      where s.token_hash = $1 and ${live}`,
    [token_hash, now],
  );

export type NewSession = {
  session_id: string;
  token_hash: string;
  user_id: string;
  amr: string;
  acr: string;
  idle_expires_at: number;
  expires_at: number;
  address: string | null;
  user_agent: string | null;
};

/** Nothing for a person who was disabled meanwhile. */
export const insertSession = (session: NewSession, now: number): Statement => ({
  sql: `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at,
                              idle_expires_at, expires_at, address, user_agent)
        select $1, $2, u.user_id, cast($4 as bigint), cast($4 as bigint), $5, $6, cast($4 as bigint),
               cast($7 as bigint), cast($8 as bigint), $9, $10
          from users u where u.user_id = $3 and u.disabled_at is null
     returning session_id`,
  params: [
    session.session_id,
    session.token_hash,
    session.user_id,
    now,
    session.amr,
    session.acr,
    session.idle_expires_at,
    session.expires_at,
    session.address,
    session.user_agent,
  ],
});

/** The same person signed in anew: the session goes on under a new secret, so the old cookie is dead (ASVS 7.2.4). */
export const renewSession = (session: NewSession, now: number): Statement => ({
  sql: `update sessions set token_hash = $2, created_at = $4, auth_time = $4, amr = $5, acr = $6, last_seen_at = $4,
               idle_expires_at = $7, expires_at = $8, address = $9, user_agent = $10
         where session_id = $1 and user_id = $3 and ended_at is null
           and exists (select 1 from users u where u.user_id = $3 and u.disabled_at is null)
     returning session_id`,
  params: insertSession(session, now).params ?? [],
});

export const touchSession = (db: Db, session_id: string, now: number, idle_expires_at: number) =>
  db.run('update sessions set last_seen_at = $2, idle_expires_at = $3 where session_id = $1 and ended_at is null', [
    session_id,
    now,
    idle_expires_at,
  ]);

/** For an audit event's `onlyIf`: a session carries that secret, so it was started or renewed. */
export const sessionCarries = (session_id: string, token_hash: string): Condition => ({
  sql: 'exists (select 1 from sessions where session_id = $1 and token_hash = $2)',
  params: [session_id, token_hash],
});

export const endSession = (session_id: string, reason: string, now: number): Statement => ({
  sql: 'update sessions set ended_at = $3, end_reason = $2 where session_id = $1 and ended_at is null',
  params: [session_id, reason, now],
});

export const endSessionsOfUser = (user_id: string, reason: string, now: number): Statement => ({
  sql: 'update sessions set ended_at = $3, end_reason = $2 where user_id = $1 and ended_at is null',
  params: [user_id, reason, now],
});

export const purgeSessions = (db: Db, expiredBefore: number) =>
  db.run('delete from sessions where expires_at < $1', [expiredBefore]);
