import { raiseGrantsEpochOfUser } from '../../accounts/store.ts';
import type { Condition } from '../../audit/store.ts';
import type { RevocationReason } from '../../authentication/ports.ts';
import { hasEveryFactor } from '../../authentication/sessions/store.ts';
import { raiseGrantsEpochOfClient } from '../../clients/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import { sliceRows } from '../../platform/db/slices.ts';
import { newId } from '../../platform/ids.ts';
import {
  type BulkRevocation,
  effectiveRevocation,
  inScope,
  insertBulkRevocation,
  isRevokedInBulk,
  notYetApplied,
  pendingRevocation,
  type RevocationScope,
} from './bulk-revocations.store.ts';

/** One authorization, from its code to its last refresh token. Times are Unix seconds. */
export type Grant = {
  grant_id: string;
  client_id: string;
  user_id: string;
  session_id: string;
  scope: string;
  redirect_uri: string;
  nonce: string | null;
  code_challenge: string;
  code_expires_at: number;
  redeemed_at: number | null;
  /** The sequence number of the refresh token that counts; 0 before the code is redeemed. */
  refresh_seq: number;
  refreshed_at: number | null;
  idle_expires_at: number;
  expires_at: number;
  auth_time: number;
  amr: string;
  acr: string;
  created_at: number;
  revoked_at: number | null;
  revoked_reason: string | null;
  /** Which issuance of tokens made the present `refresh_seq`; null of one by an earlier version. */
  issuance_id: string | null;
  /** Until when that issuance may be asked for again, if its answer may have been lost. */
  unanswered_until: number | null;
};

/**
 * The one gate: whatever may stop an issuance besides the grant itself, in the statement that issues. Every path to a
 * token goes through it, and no check can go stale between a read and a write.
 */
const isUsable = `exists (select 1 from users u where u.user_id = grants.user_id and u.disabled_at is null)
   and exists (select 1 from clients c where c.client_id = grants.client_id and c.status = 'approved')
   and not ${isRevokedInBulk}`;

type NewGrant = Omit<
  Grant,
  | 'redeemed_at'
  | 'refresh_seq'
  | 'refreshed_at'
  | 'revoked_at'
  | 'revoked_reason'
  | 'user_id'
  | 'issuance_id'
  | 'unanswered_until'
> & { code_hash: string; session_token_hash: string };

/**
 * Born as an authorization code, for the person of a session that lives at this very moment, by the secret that asked and
 * with every factor that they have, and an approved client.
 */
export const insertGrant = (grant: NewGrant): Statement => ({
  sql: `insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, nonce, code_hash,
                            code_challenge, code_expires_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr,
                            acr, created_at, session_token_hash, client_epoch, user_epoch)
        select $1, c.client_id, u.user_id, s.session_id, $4, $5, $6, $7, $8, cast($9 as bigint), 0,
               cast($10 as bigint), cast($11 as bigint), cast($12 as bigint), $13, $14, cast($15 as bigint), s.token_hash,
               c.grants_epoch, u.grants_epoch
          from sessions s join users u on u.user_id = s.user_id, clients c
         where s.session_id = $3 and s.token_hash = $16 and s.ended_at is null and s.expires_at > $15
           and ${hasEveryFactor} and u.disabled_at is null
           and c.client_id = $2 and c.status = 'approved'`,
  params: [
    grant.grant_id,
    grant.client_id,
    grant.session_id,
    grant.scope,
    grant.redirect_uri,
    grant.nonce,
    grant.code_hash,
    grant.code_challenge,
    grant.code_expires_at,
    grant.idle_expires_at,
    grant.expires_at,
    grant.auth_time,
    grant.amr,
    grant.acr,
    grant.created_at,
    grant.session_token_hash,
  ],
});

export type CodeRedemption = {
  code_hash: string;
  client_id: string;
  redirect_uri: string;
  code_challenge: string;
  /** The client's. A code of whose scope it may have nothing any more is not redeemed. */
  allowed_scopes: readonly string[];
};

/** What makes a statement safe to send again when nobody knows whether it was kept: it finds its own work done. */
type Issued = { issuance_id: string };

/**
 * Redeeming *is* its checks: of any number of requests one gets the row. The session is asked once more, and by its
 * secret, because on PostgreSQL a code and a sign-out or a change of password of the same instant do not see each other;
 * later the grant stands on its own.
 */
export async function redeemCode(db: Db, code: CodeRedemption & Issued, now: number): Promise<Grant | undefined> {
  const { rows } = await db.run(
    `update grants set redeemed_at = $5, refreshed_at = $5, refresh_seq = 1, issuance_id = $6,
            unanswered_until = case when issuance_id = $6 then unanswered_until end
      where code_hash = $1 and client_id = $2 and redirect_uri = $3 and code_challenge = $4
        and (redeemed_at is null and code_expires_at > $5 or refresh_seq = 1 and issuance_id = $6) and revoked_at is null
        and (${code.allowed_scopes.map((_, index) => `' ' || scope || ' ' like '% ' || $${index + 7} || ' %'`).join(' or ')})
        and exists (select 1 from sessions s where s.session_id = grants.session_id and s.ended_at is null
                       and s.token_hash = grants.session_token_hash)
        and ${isUsable}
  returning *`,
    [
      code.code_hash,
      code.client_id,
      code.redirect_uri,
      code.code_challenge,
      now,
      code.issuance_id,
      ...code.allowed_scopes,
    ],
  );
  return rows[0] as Grant | undefined;
}

/** A code that was seen to have expired stays so, whatever becomes of the clock: a code counts for a minute, once. */
export const expireCode = (db: Db, grant_id: string, now: number) =>
  db.run(
    `update grants set revoked_at = $2, revoked_reason = 'expired'
      where grant_id = $1 and redeemed_at is null and revoked_at is null and code_expires_at <= $2`,
    [grant_id, now],
  );

/** The same for a grant that may be refreshed no more. */
export const expireGrant = (db: Db, grant_id: string, now: number) =>
  db.run(
    `update grants set revoked_at = $2, revoked_reason = 'expired'
      where grant_id = $1 and redeemed_at is not null and revoked_at is null
        and (idle_expires_at <= $2 or expires_at <= $2)`,
    [grant_id, now],
  );

export const findGrantByCode = (db: Db, code_hash: string) =>
  db.get<Grant>('select * from grants where code_hash = $1', [code_hash]);

type Rotation = { grant_id: string; client_id: string; refresh_seq: number; idle_expires_at: number } & Issued;

/** Put together once: a text made anew for each call would be hashed and compared each time to find its prepared form. */
const rotateSql = `update grants set refresh_seq = cast($3 as bigint) + 1, refreshed_at = $5, issuance_id = $6,
            unanswered_until = case when issuance_id = $6 then unanswered_until end,
            idle_expires_at = case when expires_at < $4 then expires_at else $4 end
      where grant_id = $1 and client_id = $2 and redeemed_at is not null
        and (refresh_seq = $3 or refresh_seq = cast($3 as bigint) + 1 and issuance_id = $6)
        and revoked_at is null and idle_expires_at > $5 and expires_at > $5
        and ${isUsable}
  returning *`;

/** Compare and swap on the sequence. The idle end moves, the absolute end never does. */
export async function rotateRefreshToken(db: Db, rotation: Rotation, now: number): Promise<Grant | undefined> {
  const { rows } = await db.run(rotateSql, [
    rotation.grant_id,
    rotation.client_id,
    rotation.refresh_seq,
    rotation.idle_expires_at,
    now,
    rotation.issuance_id,
  ]);
  return rows[0] as Grant | undefined;
}

/** The client may not have got the answer to this issuance. `key` is the id of the grant, or the hash of its code. */
export const markUnanswered = (of: { key: string; issuance_id: string; until: number }): Statement => ({
  sql: 'update grants set unanswered_until = $3 where (grant_id = $1 or code_hash = $1) and issuance_id = $2',
  params: [of.key, of.issuance_id, of.until],
});

/**
 * A grant whose person and client may still be served: what an answer that was lost is given again from. With what the
 * client may have as of now.
 */
export async function findUsableGrant(
  db: Db,
  grant_id: string,
): Promise<(Grant & { allowed_scopes: readonly string[] }) | undefined> {
  const row = await db.get<Grant & { allowed_scopes: string }>(
    `select grants.*, (select c.allowed_scopes from clients c where c.client_id = grants.client_id) as allowed_scopes
       from grants where grant_id = $1 and redeemed_at is not null and ${isUsable}`,
    [grant_id],
  );
  return row && { ...row, allowed_scopes: JSON.parse(row.allowed_scopes) as string[] };
}

/** As it stands now: an end that the job has not come to yet is told like one that is on the row. */
export const findGrant = (db: Db, grant_id: string) =>
  db.get<Grant>(
    `select grant_id, client_id, user_id, session_id, scope, redirect_uri, nonce, code_challenge, code_expires_at,
            redeemed_at, refresh_seq, refreshed_at, idle_expires_at, expires_at, auth_time, amr, acr, created_at,
            issuance_id, unanswered_until, ${effectiveRevocation}
       from grants where grant_id = $1`,
    [grant_id],
  );

/** Ends one grant. The row carries the audit event's id if this call ended it. */
export const revokeGrant = (grant_id: string, reason: RevocationReason, event_id: string, now: number): Statement => ({
  sql: `update grants set revoked_at = $4, revoked_reason = $2, revoked_event_id = $3
         where grant_id = $1 and revoked_at is null and not ${isRevokedInBulk}`,
  params: [grant_id, reason, event_id, now],
});

/** True once {@link revokeGrant} with this event has ended a grant. */
export const grantEndedBy = (grant_id: string, event_id: string): Condition => ({
  sql: 'exists (select 1 from grants where grant_id = $1 and revoked_event_id = $2)',
  params: [grant_id, event_id],
});

/**
 * Ends many grants: as many as fit one slice on their rows, and the rest, if there is one, by a row of `grant_endings`
 * that every read of a grant asks. Either way all of them are dead with this batch, however many there are.
 */
function endGrants(scope: RevocationScope, reason: RevocationReason, now: number): Statement[] {
  const { sql, params } = inScope(scope);
  const [rows, at, why] = [1, 2, 3].map((place) => `$${params.length + place}`);
  return [
    'user_id' in scope ? raiseGrantsEpochOfUser(scope.user_id) : raiseGrantsEpochOfClient(scope.client_id),
    {
      sql: `update grants set revoked_at = coalesce(${pendingRevocation('ended_at')}, ${at}),
                   revoked_reason = coalesce(${pendingRevocation('reason')}, ${why})
             where revoked_at is null
               and grant_id in (select grant_id from grants where ${sql} and revoked_at is null limit ${rows})`,
      params: [...params, sliceRows, now, reason],
    },
    insertBulkRevocation({ ending_id: newId('end'), reason, ended_at: now }, scope),
  ];
}

export const hasGrantElsewhere = (user_id: string, session_id: string) => ({
  sql: `exists (select 1 from grants where user_id = $1 and session_id <> $2 and revoked_at is null
                   and not ${isRevokedInBulk})`,
  params: [user_id, session_id],
});

export const revokeGrantsOfClient = (client_id: string, reason: RevocationReason, now: number) =>
  endGrants({ client_id }, reason, now);

export const revokeGrantsOfUser = (user_id: string, reason: RevocationReason, now: number) =>
  endGrants({ user_id }, reason, now);

/** All of a person's grants but those of one session: also those that have outlived the session they came from. */
export const revokeGrantsOfOtherSessions = (
  user_id: string,
  kept_session_id: string,
  reason: RevocationReason,
  now: number,
) => endGrants({ user_id, kept_session_id }, reason, now);

/** Everything that one client holds from one person, codes that wait to be redeemed included. */
export const revokeGrantsOfUserToClient = (user_id: string, client_id: string, reason: RevocationReason, now: number) =>
  endGrants({ user_id, client_id }, reason, now);

export const revokeGrantsOfSession = (
  { user_id, session_id }: Pick<Grant, 'user_id' | 'session_id'>,
  reason: RevocationReason,
  now: number,
) => endGrants({ user_id, session_id }, reason, now);

/** Writes an ending on some of its grants. @returns how many: fewer than `rows` when few are left or another node has them. */
export async function applyBulkRevocation(db: Db, ending: BulkRevocation, rows: number): Promise<number> {
  const { sql, params } = notYetApplied(ending);
  const [limit, at, why] = [1, 2, 3].map((place) => `$${params.length + place}`);
  const { changes } = await db.run(
    `update grants set revoked_at = ${at}, revoked_reason = ${why}
      where revoked_at is null and grant_id in
            (select grant_id from grants where ${sql} limit ${limit})`,
    [...params, rows, ending.ended_at, ending.reason],
  );
  return changes;
}

/** Codes that nobody redeemed. */
export const purgeUnredeemedGrants = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    `delete from grants where grant_id in
       (select grant_id from grants where redeemed_at is null and code_expires_at < $1 order by code_expires_at limit $2)`,
    [expiredBefore, rows],
  );

/** Grants of which no token can be alive. */
export const purgeExpiredGrants = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    'delete from grants where grant_id in (select grant_id from grants where expires_at < $1 order by expires_at limit $2)',
    [expiredBefore, rows],
  );

/** All that belongs to a client or a person who is being deleted. */
export async function deleteGrants(db: Db, scope: { client_id: string } | { user_id: string }, rows: number) {
  const { sql, params } = inScope(scope);
  return db.run(`delete from grants where grant_id in (select grant_id from grants where ${sql} limit $2)`, [
    ...params,
    rows,
  ]);
}
