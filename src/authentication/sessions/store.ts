import type { Role } from '../../accounts/user.ts';
import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import { hasPasskey } from '../credentials/passkeys.store.ts';
import { hasTotp } from '../credentials/two-factor.store.ts';
import { twoFactors } from './authentication.ts';

/** A session with its person. */
export type SessionRow = {
  session_id: string;
  /** Of the secret that the request carried: what is asked for by it can demand that the session carries it still. */
  token_hash: string;
  user_id: string;
  session_created_at: number;
  auth_time: number;
  amr: string;
  acr: string;
  /** 1 when the person has a second factor that this session has not seen, else 0. */
  lacks_second_factor: number;
  /** 1 when the person has a stronger kind of factor than this session was confirmed with, else 0. */
  lacks_strongest_factor: number;
  /** 1 when its time is over, else 0. */
  has_expired: number;
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

/** For what takes all of a person's factors: true of a session `s` that has seen the second, if there is one. */
export const hasEveryFactor = `(s.acr = '${twoFactors}' or not ${hasTotp('s.user_id')})`;

/**
 * For what changes factors, ways in, address or password: true of a session `s` that was confirmed with the strongest
 * kind of factor that its person has (decisions §10; SP 800-63B-4 §4.1.2). A passkey counts here although no sign-in
 * asks for it: a password is a way around it otherwise.
 */
const hasStrongestFactor = `(s.acr = '${twoFactors}' or not (${hasTotp('s.user_id')} or ${hasPasskey('s.user_id')}))`;

/** Lives: not ended, neither idle nor absolute end reached, its person not disabled. */
const active = 's.ended_at is null and s.idle_expires_at > $2 and s.expires_at > $2 and u.disabled_at is null';

/** A session that nobody has ended, of a person who is not disabled; also one whose time is over. */
export const findSession = (db: Db, token_hash: string, now: number) =>
  db.get<SessionRow>(
    `select s.session_id, s.token_hash, s.user_id, s.created_at as session_created_at, s.auth_time, s.amr, s.acr,
            case when ${hasEveryFactor} then 0 else 1 end as lacks_second_factor,
            case when ${hasStrongestFactor} then 0 else 1 end as lacks_strongest_factor,
            case when s.idle_expires_at > $2 and s.expires_at > $2 then 0 else 1 end as has_expired,
            s.last_seen_at, s.expires_at, u.email, u.email_verified_at, u.name, u.picture, u.role, u.locale, u.created_at as user_created_at, u.updated_at as user_updated_at
       from sessions s join users u on u.user_id = s.user_id
      where s.token_hash = $1 and s.ended_at is null and u.disabled_at is null`,
    [token_hash, now],
  );

/** A session that was seen to have expired stays so, whatever becomes of the clock. */
export const expireSession = (db: Db, session_id: string, now: number) =>
  db.run(
    `update sessions set ended_at = $2, end_reason = 'expired'
      where session_id = $1 and ended_at is null and (idle_expires_at <= $2 or expires_at <= $2)`,
    [session_id, now],
  );

type NewSession = {
  session_id: string;
  token_hash: string;
  user_id: string;
  auth_time: number;
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
const userMaySignIn = `u.disabled_at is null
  and (cast($11 as bigint) = 1 or not ${hasTotp('u.user_id')})`;

/** Nothing for a person whom the gate does not let through. */
export const insertSession = (session: NewSession, now: number): Statement => ({
  sql: `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at,
                              idle_expires_at, expires_at, address, user_agent)
        select $1, $2, u.user_id, cast($4 as bigint), cast($12 as bigint), $5, $6, cast($4 as bigint),
               cast($7 as bigint), cast($8 as bigint), $9, $10
          from users u where u.user_id = $3 and ${userMaySignIn}
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
    session.auth_time,
  ],
});

/** The same person signed in anew: the session goes on under a new secret, so the old cookie is dead (ASVS 7.2.4). */
export const renewSession = (session: NewSession, now: number): Statement => ({
  sql: `update sessions set token_hash = $2, created_at = $4, auth_time = $12, amr = $5, acr = $6, last_seen_at = $4,
               idle_expires_at = $7, expires_at = $8, address = $9, user_agent = $10
         where session_id = $1 and user_id = $3 and ended_at is null
           and exists (select 1 from users u where u.user_id = $3 and ${userMaySignIn})
     returning session_id`,
  params: insertSession(session, now).params ?? [],
});

export const touchSession = (db: Db, session_id: string, now: number, idle_expires_at: number) =>
  db.run('update sessions set last_seen_at = $2, idle_expires_at = $3 where session_id = $1 and ended_at is null', [
    session_id,
    now,
    idle_expires_at,
  ]);

/**
 * The session has not ended, and is known by that secret. Of one that was just started or renewed, that it was; of one
 * that asks for a change, that nothing has cut this copy of the cookie off since the request began.
 */
export const sessionCarries = (session_id: string, token_hash: string): Condition => ({
  sql: 'exists (select 1 from sessions where session_id = $1 and token_hash = $2 and ended_at is null)',
  params: [session_id, token_hash],
});

/** {@link sessionCarries}, and it was confirmed with the strongest kind of factor that its person has by now. */
export const sessionMayChangeFactors = (session_id: string, token_hash: string): Condition => ({
  sql: `exists (select 1 from sessions s where s.session_id = $1 and s.token_hash = $2 and s.ended_at is null
                and ${hasStrongestFactor})`,
  params: [session_id, token_hash],
});

/** The session goes on under another secret, of the same sign-in; not if it has ended, or carries another by now. */
export const replaceSessionSecret = (session_id: string, token_hash: { from: string; to: string }): Statement => ({
  sql: 'update sessions set token_hash = $3 where session_id = $1 and token_hash = $2 and ended_at is null',
  params: [session_id, token_hash.from, token_hash.to],
});

/** What the session has seen besides: the same sign-in, at the time that it was. */
export const recordFactors = (session_id: string, proved: { amr: string; acr: string }): Statement => ({
  sql: 'update sessions set amr = $2, acr = $3 where session_id = $1 and ended_at is null',
  params: [session_id, proved.amr, proved.acr],
});

/** That session is this person's, and lives. */
export const isActiveSessionOf = (user_id: string, session_id: string, now: number): Condition => ({
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
export const activeSessionsOf = (db: Db, user_id: string, now: number) =>
  db.all<ListedSession>(
    `select s.session_id, s.created_at, s.auth_time, s.amr, s.acr, s.last_seen_at, s.expires_at, s.address, s.user_agent
       from sessions s join users u on u.user_id = s.user_id
      where s.user_id = $1 and ${active} order by s.last_seen_at desc, s.session_id`,
    [user_id, now],
  );

/** Live sessions, and browsers that are known, of one person. Of more the longest unused go. */
const maxSessions = 100;
const maxDevices = 100;

/** Ends what is too much beside the session that was just started: as if it had expired, so its grants stand. */
export const endSurplusSessions = (user_id: string, session_id: string, now: number): Statement => ({
  sql: `update sessions set ended_at = $3, end_reason = 'surplus'
         where user_id = $1 and ended_at is null and session_id <> $2
           and session_id not in (select o.session_id from sessions o
                where o.user_id = $1 and o.ended_at is null and o.session_id <> $2
                order by o.last_seen_at desc, o.session_id limit ${maxSessions - 1})`,
  params: [user_id, session_id, now],
});

/** Whether the person has signed in with this browser at that time or later. @param since Unix seconds. */
export const hasSignedInSince = async (
  db: Db,
  { user_id, device_hash }: { user_id: string; device_hash: string },
  since: number,
): Promise<boolean> =>
  (await db.get('select 1 as one from known_devices where user_id = $1 and device_hash = $2 and last_seen_at >= $3', [
    user_id,
    device_hash,
    since,
  ])) !== undefined;

/** Whether the person has signed in with this browser before, and with any at all. */
export async function findDevice(db: Db, user_id: string, device_hash: string) {
  const row = await db.get<{ known: number; others: number }>(
    `select case when exists (select 1 from known_devices where user_id = $1 and device_hash = $2) then 1 else 0 end
              as known,
            case when exists (select 1 from known_devices where user_id = $1) then 1 else 0 end as others`,
    [user_id, device_hash],
  );
  return { isKnown: row?.known === 1, isFirst: row?.others === 0 };
}

export const rememberDevice = (user_id: string, device_hash: string, now: number): Statement => ({
  sql: `insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at) values ($1, $2, $3, $3)
        on conflict (user_id, device_hash) do update set last_seen_at = excluded.last_seen_at`,
  params: [user_id, device_hash, now],
});

/** A browser that is known stays so, as of now. */
export const touchDevice = (user_id: string, device_hash: string, now: number): Statement => ({
  sql: 'update known_devices set last_seen_at = $3 where user_id = $1 and device_hash = $2',
  params: [user_id, device_hash, now],
});

/** Forgets what is too much beside the browser of this sign-in. */
export const deleteSurplusDevices = (user_id: string, device_hash: string): Statement => ({
  sql: `delete from known_devices
         where user_id = $1 and device_hash <> $2
           and device_hash not in (select o.device_hash from known_devices o
                where o.user_id = $1 and o.device_hash <> $2
                order by o.last_seen_at desc, o.device_hash limit ${maxDevices - 1})`,
  params: [user_id, device_hash],
});

export const purgeDevices = (db: Db, unusedSince: number, rows: number) =>
  db.run(
    `delete from known_devices where (user_id, device_hash) in
       (select user_id, device_hash from known_devices where last_seen_at < $1 order by last_seen_at limit $2)`,
    [unusedSince, rows],
  );

/**
 * That a user has another active session, or an active grant that came from another one, which it may have outlived.
 * @param hasGrant its placeholders stand for the same user and session, in this order.
 */
export const hasOtherActiveAccess = (
  user_id: string,
  session_id: string,
  now: number,
  hasGrant: { sql: string },
): Condition => ({
  sql: `(exists (select 1 from sessions where user_id = $1 and session_id <> $2 and ended_at is null
                    and idle_expires_at > $3 and expires_at > $3)
         or ${hasGrant.sql})`,
  params: [user_id, session_id, now],
});

export const endOtherSessions = (user_id: string, session_id: string, reason: string, now: number): Statement => ({
  sql: `update sessions set ended_at = $4, end_reason = $3
         where user_id = $1 and session_id <> $2 and ended_at is null and idle_expires_at > $4 and expires_at > $4`,
  params: [user_id, session_id, reason, now],
});

export const purgeSessions = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    'delete from sessions where session_id in (select session_id from sessions where expires_at < $1 order by expires_at limit $2)',
    [expiredBefore, rows],
  );

export const deleteSessionsOfUser = (db: Db, user_id: string, rows: number) =>
  db.run('delete from sessions where session_id in (select session_id from sessions where user_id = $1 limit $2)', [
    user_id,
    rows,
  ]);
