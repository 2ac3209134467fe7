import { User } from '../../accounts/statements.ts';
import type { Db, Part } from '../../platform/db/db.ts';
import { flag, id, integer, nullable, type RowOf, row, text, words } from '../../platform/db/rows.ts';
import { inOneSlice } from '../../platform/db/slices.ts';
import { asText, incidental, join, oneOf, raw, type Sql, sql } from '../../platform/db/sql.ts';
import { digest, type SessionId, type UserId } from '../../platform/ids.ts';
import type { UpstreamSession } from '../credentials/identities.store.ts';
import { hasPasskey } from '../credentials/passkeys.store.ts';
import { hasTotp } from '../credentials/two-factor.store.ts';
import { type Method, twoFactors } from './authentication.ts';
import { hasPendingSignIn } from './pending-sign-ins.store.ts';
import { restsOnTrust } from './trusted-browsers.store.ts';

const SessionFacts = row('sessions', {
  session_id: id<SessionId>(),
  created_at: integer,
  auth_time: integer,
  amr: words<Method>(),
  acr: text,
  last_seen_at: integer,
  expires_at: integer,
  address: nullable(text),
  user_agent: nullable(text),
});

const ListedSession = row('sessions', {
  ...SessionFacts.fields,
  /** Given by the user, for the user alone. */
  name: nullable(text),
});
export type ListedSession = RowOf<typeof ListedSession>;

const SessionAgent = SessionFacts.pick('session_id', 'user_agent');

/** Of sessions of a user, also of those that have ended, as long as they are kept. */
export const agentsOfSessions = (db: Db, user_id: string, session_ids: readonly string[]) =>
  db
    .of(user_id)
    .all(
      SessionAgent,
      sql`select ${SessionAgent.columns} from sessions where session_id in ${oneOf(session_ids)} and user_id = ${user_id}`,
    );

/** The sign-in at a provider that a session rests on; null of one that began otherwise. */
const Upstream = row('sessions', {
  upstream_issuer: nullable(text),
  upstream_subject: nullable(text),
  /** The session there; null if the provider has named none. */
  upstream_sid: nullable(text),
  /** When its ID token was issued, by the clock of the provider. */
  upstream_at: nullable(integer),
});

const StoredSession = row('sessions', {
  ...SessionFacts.fields,
  /** The hash of the secret in the cookie. A change can require that the session still has the hash of its request. */
  token_hash: text,
  user_id: id<UserId>(),
  idle_expires_at: integer,
  /** The trusted browser that it began in: `series_hash`. */
  trusted_by: nullable(text),
  ...Upstream.fields,
});
type StoredSession = RowOf<typeof StoredSession>;

const { email, email_verified_at, name, picture, role, locale, attributes } = User.fields;

const SessionRow = row('sessions', {
  ...SessionFacts.pick('session_id', 'auth_time', 'amr', 'acr', 'last_seen_at', 'expires_at').fields,
  ...StoredSession.pick('token_hash', 'user_id', 'trusted_by').fields,
  session_created_at: integer,
  /** The user has TOTP and this session was confirmed without it: it is older, or an attacker's. It gets no codes. */
  lacks_second_factor: flag,
  /** The user has TOTP, and a trusted browser stood in for it. It gets codes from clients that do not ask for more. */
  rests_on_trust: flag,
  /** The user has TOTP or a passkey, and has shown neither in this session. It cannot change how they sign in. */
  lacks_strongest_factor: flag,
  has_expired: flag,
  ...{ email, email_verified_at, name, picture, role, locale, attributes },
  user_created_at: integer,
  user_updated_at: integer,
});
export type Session = RowOf<typeof SessionRow>;

const isOfTwoFactors = raw(`s.acr = '${twoFactors}'`);
const userOfSession = raw('s.user_id');

/** Of a session `s`: it was confirmed with the second factor, or by a browser that is trusted still, if its user has one. */
export const hasEveryFactor = (now: number): Sql =>
  sql`(${isOfTwoFactors} or not ${hasTotp(userOfSession)} or ${restsOnTrust(now)})`;

/**
 * For changes of factors, address or password, of a session `s`: it was confirmed with the strongest kind of factor that
 * its user has (decisions §10; SP 800-63B-4 §4.1.2). A passkey counts although no sign-in requires it: otherwise a
 * password alone could remove it.
 */
const strongestFactor = sql`(${isOfTwoFactors} or not (${hasTotp(userOfSession)} or ${hasPasskey(userOfSession)}))`;

/** Neither the idle nor the absolute end is reached. */
const isUnexpired = (now: number): Sql => sql`idle_expires_at > ${now} and expires_at > ${now}`;

/** A session that has not ended, of a user who is not disabled; also one that has expired. */
export const findSession = (part: Part, token_hash: string, now: number) =>
  part.get(
    SessionRow,
    sql`select s.session_id, s.token_hash, s.user_id, s.trusted_by, s.created_at as session_created_at, s.auth_time, s.amr, s.acr,
               case when ${hasEveryFactor(now)} then 0 else 1 end as lacks_second_factor,
               case when not ${isOfTwoFactors} and ${restsOnTrust(now)} then 1 else 0 end as rests_on_trust,
               case when ${strongestFactor} then 0 else 1 end as lacks_strongest_factor,
               case when ${isUnexpired(now)} then 0 else 1 end as has_expired,
               s.last_seen_at, s.expires_at, u.email, u.email_verified_at, u.name, u.picture, u.role, u.locale, u.attributes,
               u.created_at as user_created_at, u.updated_at as user_updated_at
          from sessions s join users u on u.user_id = s.user_id
         where s.token_hash = ${token_hash} and s.ended_at is null and u.disabled_at is null`,
  );

/** An expired session stays so even if the clock is set back. */
export const expireSession = (db: Db, session_id: SessionId, now: number) =>
  db.of(session_id).run(
    sql`update sessions set ended_at = ${now}, end_reason = 'expired'
         where session_id = ${session_id} and ended_at is null and (idle_expires_at <= ${now} or expires_at <= ${now})`,
  );

type NewSession = Omit<StoredSession, 'created_at' | 'last_seen_at' | keyof RowOf<typeof Upstream>> & {
  /** Left out: it rests on what it has rested on. A factor of ours that is given later does not cut it off from the provider. */
  upstream?: UpstreamSession | undefined;
  /** A second factor was given in this sign-in, or a trusted browser stood in for it. */
  second_step: boolean;
};

/**
 * Of a user `u`: not disabled, and without TOTP unless the second step was passed. It is part of the statement that
 * creates the session, so that no path and no race can bypass it.
 */
const userMaySignIn = ({ second_step }: NewSession): Sql =>
  sql`u.disabled_at is null and ${second_step ? sql`1 = 1` : sql`not ${hasTotp(raw('u.user_id'))}`}`;

const columnsOf = ({ upstream, ...session }: Omit<NewSession, 'second_step'>, now: number) => ({
  ...session,
  ...(upstream && {
    upstream_issuer: upstream.issuer,
    upstream_subject: upstream.subject,
    upstream_sid: upstream.sid,
    upstream_at: upstream.issued_at,
  }),
  created_at: now,
  last_seen_at: now,
});

export const insertSession = (session: NewSession, now: number): Sql =>
  sql`insert into sessions ${StoredSession.select(columnsOf(session, now))}
        from users u where u.user_id = ${session.user_id} and ${userMaySignIn(session)}`;

/** A new sign-in of the same user: the session gets a new secret, so the old cookie is invalid (ASVS 7.2.4). */
export function renewSession(session: NewSession, now: number): Sql {
  const { session_id, user_id, ...renewed } = columnsOf(session, now);
  return sql`update sessions set ${StoredSession.set(renewed)}
    where session_id = ${session_id} and user_id = ${user_id} and ended_at is null
      and exists (select 1 from users u where u.user_id = ${user_id} and ${userMaySignIn(session)})`;
}

export const touchSession = (db: Db, session_id: SessionId, now: number, idle_expires_at: number) =>
  db.of(session_id).run(
    incidental(sql`update sessions set last_seen_at = ${now}, idle_expires_at = ${idle_expires_at}
                    where session_id = ${session_id} and ended_at is null`),
  );

/** The session and the secret with which the request was authenticated. */
export type SessionRef = Pick<Session, 'session_id' | 'token_hash'>;

/** The session has not ended, and its secret is still that of the request. */
export const isActiveSession = ({ session_id, token_hash }: SessionRef): Sql =>
  sql`exists (select 1 from sessions
               where session_id = ${session_id} and token_hash = ${token_hash} and ended_at is null)`;

/**
 * {@link isActiveSession}, and it was confirmed with the strongest kind of factor that its user has. A requirement, behind
 * a lock of the user's row, for a change that must not outlive the cookie of its request: a password change puts the
 * session under a new secret, so requests of an attacker with the old one are refused, even if they had begun before.
 */
export const isCurrentSession = ({ session_id, token_hash }: SessionRef): Sql =>
  sql`exists (select 1 from sessions s
               where s.session_id = ${session_id} and s.token_hash = ${token_hash} and s.ended_at is null
                 and ${strongestFactor})`;

/** The same sign-in under another secret; has no effect if the session has ended or has another secret already. */
export const replaceSessionSecret = (session_id: SessionId, token_hash: { from: string; to: string }): Sql =>
  sql`update sessions set token_hash = ${token_hash.to}
       where session_id = ${session_id} and token_hash = ${token_hash.from} and ended_at is null`;

export const recordFactors = (session_id: SessionId, factors: Pick<StoredSession, 'amr' | 'acr'>): Sql =>
  sql`update sessions set ${StoredSession.set(factors)} where session_id = ${session_id} and ended_at is null`;

export const isActiveSessionOf = (user_id: UserId, session_id: SessionId, now: number): Sql =>
  sql`exists (select 1 from sessions s where s.session_id = ${session_id} and s.user_id = ${user_id}
               and s.ended_at is null and ${isUnexpired(now)})`;

/** The name stays with the session when its user signs in again in the same browser. Changes no row that has it. */
export const renameSession = (user_id: UserId, session_id: SessionId, name: string | null, now: number): Sql =>
  sql`update sessions set name = ${name}
       where session_id = ${session_id} and user_id = ${user_id} and ended_at is null and ${isUnexpired(now)}
         and name is distinct from ${asText(name)}`;

export const endSession = (session_id: SessionId, reason: string, now: number): Sql =>
  sql`update sessions set ended_at = ${now}, end_reason = ${reason}
       where session_id = ${session_id} and ended_at is null`;

export const endSessionsOfUser = (user_id: UserId, reason: string, now: number): Sql =>
  sql`update sessions set ended_at = ${now}, end_reason = ${reason} where user_id = ${user_id} and ended_at is null`;

/** Ends the sessions of all users, for a restore. */
export const endSessions = (part: Part, reason: string, now: number, rows: number) =>
  part.run(
    sql`update sessions set ended_at = ${now}, end_reason = ${reason}
         where ${inOneSlice('sessions', 'session_id', sql`ended_at is null`, rows)}`,
  );

const TrustedSession = row('sessions', { session_id: id<SessionId>(), user_id: id<UserId>() });

/** Sessions that began in a browser while it was trusted, and have not ended. */
export const sessionsTrustedBy = (db: Db, user_id: UserId, series_hash: string) =>
  db.of(user_id).all(
    TrustedSession,
    sql`select session_id, user_id from sessions
         where user_id = ${user_id} and trusted_by = ${series_hash} and ended_at is null limit ${maxSessions}`,
  );

/** Last used first. */
export const activeSessionsOf = (db: Db, user_id: UserId, now: number) =>
  db.of(user_id).all(
    ListedSession,
    sql`select ${ListedSession.columnsOf('s')} from sessions s join users u on u.user_id = s.user_id
         where s.user_id = ${user_id} and s.ended_at is null and ${isUnexpired(now)} and u.disabled_at is null
         order by s.last_seen_at desc, s.session_id`,
  );

/** Active sessions and known devices of one user. Above that, those unused for longest are removed. */
const maxSessions = 100;
const maxDevices = 100;

/** Ends the sessions above the maximum, except the one just started, as if they had expired: their grants remain. */
export const endSurplusSessions = (user_id: UserId, session_id: SessionId, now: number): Sql =>
  sql`update sessions set ended_at = ${now}, end_reason = 'surplus'
       where user_id = ${user_id} and ended_at is null and session_id <> ${session_id}
         and session_id not in (select o.session_id from sessions o
              where o.user_id = ${user_id} and o.ended_at is null and o.session_id <> ${session_id}
              order by o.last_seen_at desc, o.session_id limit ${maxSessions - 1})`;

/** The hash of the device, if the user has signed in on it at that time or later. @param since Unix seconds. */
export async function findKnownDevice(db: Db, user_id: UserId, deviceToken: string, since: number) {
  const device_hash = digest(deviceToken);
  const isKnown = await db.of(user_id).holds(
    sql`exists (select 1 from known_devices
                 where user_id = ${user_id} and device_hash = ${device_hash} and last_seen_at >= ${since})`,
  );
  return isKnown ? device_hash : undefined;
}

const Device = row('known_devices', { is_known: flag, has_any: flag });

/** Whether the user has signed in on this device before, and on any at all. */
export async function findDevice(db: Db, user_id: UserId, device_hash: string) {
  const device = await db.of(user_id).get(
    Device,
    sql`select exists (select 1 from known_devices where user_id = ${user_id} and device_hash = ${device_hash})
                 as is_known,
               exists (select 1 from known_devices where user_id = ${user_id}) as has_any`,
  );
  return { isKnown: device?.is_known === true, isFirst: device?.has_any === false };
}

export const rememberDevice = (user_id: UserId, device_hash: string, now: number): Sql =>
  sql`insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at)
      values (${user_id}, ${device_hash}, ${now}, ${now})
      on conflict (user_id, device_hash) do update set last_seen_at = excluded.last_seen_at`;

export const touchDevice = (user_id: UserId, device_hash: string, now: number): Sql =>
  sql`update known_devices set last_seen_at = ${now} where user_id = ${user_id} and device_hash = ${device_hash}`;

/** A query: the hash of each known device of the user with this address, after a prefix. @param isAddressed on the row of the user. */
export const prefixedDevices = (prefix: string, isAddressed: Sql): Sql =>
  sql`select ${prefix} || d.device_hash from known_devices d join users u on u.user_id = d.user_id
       where ${isAddressed}`;

/** Deletes the devices above the maximum, except the one of this sign-in. */
export const deleteSurplusDevices = (user_id: UserId, device_hash: string): Sql =>
  sql`delete from known_devices
       where user_id = ${user_id} and device_hash <> ${device_hash}
         and device_hash not in (select o.device_hash from known_devices o
              where o.user_id = ${user_id} and o.device_hash <> ${device_hash}
              order by o.last_seen_at desc, o.device_hash limit ${maxDevices - 1})`;

const isOtherActive = (user_id: UserId, session_id: SessionId, now: number): Sql =>
  sql`user_id = ${user_id} and session_id <> ${session_id} and ended_at is null and ${isUnexpired(now)}`;

/**
 * The user has another active session, or an active grant that came from another session, even an ended one.
 * @param hasGrant the condition for such a grant.
 */
export const hasOtherActiveAccess = (user_id: UserId, session_id: SessionId, now: number, hasGrant: Sql): Sql =>
  sql`(exists (select 1 from sessions where ${isOtherActive(user_id, session_id, now)}) or ${hasGrant})`;

/**
 * The user is signed in anywhere, or is on the way to it.
 * @param others further conditions of which each is enough.
 */
export const hasActiveAccess = (user_id: UserId, now: number, ...others: Sql[]): Sql => {
  const hasSession = sql`exists (select 1 from sessions
                                  where user_id = ${user_id} and ended_at is null and ${isUnexpired(now)})`;
  return sql`(${join([hasSession, hasPendingSignIn(user_id, now), ...others], ' or ')})`;
};

export const endOtherSessions = (user_id: UserId, session_id: SessionId, reason: string, now: number): Sql =>
  sql`update sessions set ended_at = ${now}, end_reason = ${reason} where ${isOtherActive(user_id, session_id, now)}`;
