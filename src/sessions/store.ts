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
  /** 1 when a second step was passed in this sign-in, else 0. */
  second_step: 0 | 1;
};

/**
 * The one gate of every path to a session: nobody who is disabled, and nobody who has TOTP without a second step. Asked
 * by the statement that makes the session, so no path and no race leads around it.
 */
const mayStart = `u.disabled_at is null
  and (cast($11 as bigint) = 1
       or not exists (select 1 from totp t where t.user_id = u.user_id and t.confirmed_at is not null))`;

/** Nothing for a person whom the gate does not let through. */
export const insertSession = (session: NewSession, now: number): Statement => ({
  sql: `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at,
                              idle_expires_at, expires_at, address, user_agent)
        select $1, $2, u.user_id, cast($4 as bigint), cast($4 as bigint), $5, $6, cast($4 as bigint),
               cast($7 as bigint), cast($8 as bigint), $9, $10
          from users u where u.user_id = $3 and ${mayStart}
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
    session.second_step,
  ],
});

/** The same person signed in anew: the session goes on under a new secret, so the old cookie is dead (ASVS 7.2.4). */
export const renewSession = (session: NewSession, now: number): Statement => ({
  sql: `update sessions set token_hash = $2, created_at = $4, auth_time = $4, amr = $5, acr = $6, last_seen_at = $4,
               idle_expires_at = $7, expires_at = $8, address = $9, user_agent = $10
         where session_id = $1 and user_id = $3 and ended_at is null
           and exists (select 1 from users u where u.user_id = $3 and ${mayStart})
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

/** For a batch that must not outlive the session that asked for it. */
export const sessionIsOpen = (session_id: string): Condition => ({
  sql: 'exists (select 1 from sessions where session_id = $1 and ended_at is null)',
  params: [session_id],
});

/** The session goes on under another secret, of the same sign-in; not if it has ended, or carries another by now. */
export const replaceSessionSecret = (session_id: string, token_hash: { from: string; to: string }): Statement => ({
  sql: 'update sessions set token_hash = $3 where session_id = $1 and token_hash = $2 and ended_at is null',
  params: [session_id, token_hash.from, token_hash.to],
});

/** That session is this person's, and lives. */
export const isLiveSessionOf = (user_id: string, session_id: string, now: number): Condition => ({
  sql: `exists (select 1 from sessions s where s.session_id = $3 and s.user_id = $1 and s.ended_at is null
                and s.idle_expires_at > $2 and s.expires_at > $2)`,
  params: [user_id, now, session_id],
});

export const endSession = (session_id: string, reason: string, now: number): Statement => ({
  sql: 'update sessions set ended_at = $3, end_reason = $2 where session_id = $1 and ended_at is null',
  params: [session_id, reason, now],
});

export const endSessionsOfUser = (user_id: string, reason: string, now: number): Statement => ({
  sql: 'update sessions set ended_at = $3, end_reason = $2 where user_id = $1 and ended_at is null',
  params: [user_id, reason, now],
});

/** A live session as its person sees it in a list. */
export type ListedSession = Pick<
  SessionRow,
  'session_id' | 'auth_time' | 'amr' | 'acr' | 'last_seen_at' | 'expires_at'
> & {
  created_at: number;
  address: string | null;
  user_agent: string | null;
};

/** Newest use first. */
export const liveSessionsOf = (db: Db, user_id: string, now: number) =>
  db.all<ListedSession>(
    `select s.session_id, s.created_at, s.auth_time, s.amr, s.acr, s.last_seen_at, s.expires_at, s.address, s.user_agent
       from sessions s join users u on u.user_id = s.user_id
      where s.user_id = $1 and ${live} order by s.last_seen_at desc, s.session_id`,
    [user_id, now],
  );

/** Whether the person has signed in with this browser before, and with any at all. */
export async function findDevice(db: Db, user_id: string, device_hash: string) {
  const rows = await db.all<{ device_hash: string }>('select device_hash from known_devices where user_id = $1', [
    user_id,
  ]);
  return { isKnown: rows.some((row) => row.device_hash === device_hash), isFirst: rows.length === 0 };
}

export const rememberDevice = (user_id: string, device_hash: string, now: number): Statement => ({
  sql: `insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at) values ($1, $2, $3, $3)
        on conflict (user_id, device_hash) do update set last_seen_at = excluded.last_seen_at`,
  params: [user_id, device_hash, now],
});

export const purgeDevices = (unusedSince: number): Statement => ({
  sql: 'delete from known_devices where last_seen_at < $1',
  params: [unusedSince],
});

/** All of a person's sessions but one. */
export const endOtherSessions = (user_id: string, session_id: string, reason: string, now: number): Statement => ({
  sql: `update sessions set ended_at = $4, end_reason = $3
         where user_id = $1 and session_id <> $2 and ended_at is null and idle_expires_at > $4 and expires_at > $4`,
  params: [user_id, session_id, reason, now],
});

export const purgeSessions = (db: Db, expiredBefore: number) =>
  db.run('delete from sessions where expires_at < $1', [expiredBefore]);
