import { raiseGrantsEpochOfUser } from '../../accounts/statements.ts';
import type { RevocationReason } from '../../authentication/deps.ts';
import { hasEveryFactor } from '../../authentication/statements.ts';
import { raiseGrantsEpochOfClient } from '../../clients/statements.ts';
import { isAmong } from '../../groups/statements.ts';
import type { Db, Part, Prepare } from '../../platform/db/db.ts';
import { flag, id, row } from '../../platform/db/rows.ts';
import { inOneSlice, sliceRows } from '../../platform/db/slices.ts';
import { asBigint, combinable, join, onFoundRow, type Sql, sql } from '../../platform/db/sql.ts';
import { type ClientId, type GrantId, newId, type UserId } from '../../platform/ids.ts';
import {
  type BulkRevocation,
  insertBulkRevocation,
  isRevokedInBulk,
  notYetApplied,
  pendingRevocation,
  type RevocationScope,
  type ScopeOfUser,
  writtenAtOnce,
} from './bulk-revocations.store.ts';
import {
  type CodeRedemption,
  IssuableGrant,
  type Issuance,
  isUsable,
  type NewGrant,
  type Rotation,
} from './grant.store.ts';
import { enqueueLogouts, markAll, markForLogout } from './logout-deliveries.store.ts';
import { noteLostOf, noteLostWithDeleted } from './lost-apps.store.ts';
import { rememberDeleted } from './revoked-access-tokens.store.ts';
import { mayHaveStatus, noteStatusRef } from './status-refs.store.ts';
import {
  findSurplusCodes,
  type GrantKeys,
  idleGrants,
  isCrowded,
  isLasting,
  sessionEnd,
  surplusExpired,
  surplusRevoked,
} from './surplus-grants.store.ts';
import { noteUse } from './uses.store.ts';

/** Whether its user and client may have too many grants, or codes, by now. */
export const InsertedGrant = row('grants', { is_crowded: flag });

/**
 * A grant begins as an authorization code: for the user of a session that is active at this moment, under the secret that
 * asked and with every factor that the user has, and for an approved client that the user may use. Otherwise no row is inserted.
 * One of many has the sequence -1 until it is redeemed: no store of several parts takes a subquery behind `returning`.
 */
export const insertGrant = (grant: NewGrant): Sql =>
  sql`insert into grants (grant_id, client_id, user_id, session_id, scope, claims, apis, dpop_jkt, redirect_uri, nonce, code_hash,
                          code_challenge, code_expires_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr,
                          acr, created_at, session_token_hash, client_epoch, user_epoch, expiry_check_at)
      select ${grant.grant_id}, c.client_id, u.user_id, s.session_id, ${grant.scope},
             ${grant.claims && JSON.stringify(grant.claims)}, ${grant.apis?.join(' ') ?? null}, ${grant.dpop_jkt}, ${grant.redirect_uri},
             ${grant.nonce}, ${grant.code_hash}, ${grant.code_challenge}, ${asBigint(grant.code_expires_at)},
             case when ${isCrowded(sql`u.user_id`, sql`c.client_id`)} then -1 else 0 end,
             ${asBigint(grant.idle_expires_at)}, ${asBigint(grant.expires_at)}, ${asBigint(grant.auth_time)}, ${grant.amr}, ${grant.acr}, ${asBigint(grant.created_at)}, s.token_hash, c.grants_epoch, u.grants_epoch,
             case when c.backchannel_logout_uri is not null then ${asBigint(grant.idle_expires_at)} end
        from sessions s join users u on u.user_id = s.user_id, clients c
       where s.session_id = ${grant.session_id} and s.token_hash = ${grant.session_token_hash} and s.ended_at is null
         and s.expires_at > ${grant.created_at} and ${hasEveryFactor(grant.created_at)} and u.disabled_at is null
         and c.client_id = ${grant.client_id} and c.status = 'approved'
         and ${isAmong(sql`c.allowed_groups`, sql`u.user_id`)}
      returning case when refresh_seq < 0 then 1 else 0 end as is_crowded`;

/**
 * Redeeming is one statement, and its `where` is the list of checks, so of any number of requests one gets the row. The
 * session is checked again, and by its secret: on PostgreSQL a code and a concurrent sign-out or password change do not see
 * each other. Afterwards the grant no longer depends on the session: the hash leaves its place to what is written now, since
 * on SQLite a row that grows moves others to another page.
 * @param part where the code leads.
 */
export async function redeemCode(
  part: Part,
  code: CodeRedemption & Issuance,
  now: number,
  prepare?: Prepare<IssuableGrant>,
): Promise<IssuableGrant | undefined> {
  const includes = code.allowed_scopes.map((name) => sql`' ' || scope || ' ' like '% ' || ${name} || ' %'`);
  const isRedeemable = sql`client_id = ${code.client_id} and redirect_uri = ${code.redirect_uri}
           and code_challenge = ${code.code_challenge} and revoked_at is null
           and (dpop_jkt is null or dpop_jkt = ${code.jkt ?? ''})
           and (redeemed_at is null and code_expires_at > ${now} or refresh_seq = 1 and issuance_id = ${code.issuance_id})
           and (${join(includes, ' or ')})
           and (select s.ended_at is null and (s.token_hash = grants.session_token_hash or grants.redeemed_at is not null)
                  from sessions s where s.session_id = grants.session_id)
           and ${isUsable}`;
  // A key that the authorization request has named stays that of the grant.
  const bound = (code.isBound && code.jkt) || ''; // never null, so that requests share a statement
  const redemption = sql`update grants set redeemed_at = ${now}, refreshed_at = ${now}, refresh_seq = 1, issuance_id = ${code.issuance_id},
               unanswered_until = case when issuance_id = ${code.issuance_id} then unanswered_until end,
               session_token_hash = null, dpop_jkt = case when ${bound} = '' then dpop_jkt else ${bound} end${noteUse(code.used_by)}${noteStatusRef(code.status_ref, now)}
         where code_hash = ${code.code_hash} and ${onFoundRow(isRedeemable)}
     returning ${IssuableGrant.columns}`;
  const { rows } = await part.run(IssuableGrant, combinable(redemption, code.code_hash), prepare);
  return rows[0];
}

/**
 * Once seen to have expired, a code or refresh token stays expired, even if the clock is set back. The client of a refresh
 * token is notified.
 */
export function expireGrant(db: Db, grant_id: GrantId, now: number) {
  const batch = newId('lo');
  const grant = sql`update grants set revoked_at = ${now}, revoked_reason = 'expired', ${markForLogout(batch)}
                     where grant_id = ${grant_id} and revoked_at is null
                       and case when redeemed_at is null then code_expires_at <= ${now}
                                else idle_expires_at <= ${now} or expires_at <= ${now} end`;
  return db.of(grant_id).change({ run: { grant, logouts: enqueueLogouts(batch, now) } });
}

/** Compare-and-swap on the sequence number. Extends `idle_expires_at`, never `expires_at`. */
export async function rotateRefreshToken(
  db: Db,
  rotation: Rotation,
  now: number,
  prepare?: Prepare<IssuableGrant>,
): Promise<IssuableGrant | undefined> {
  const { grant_id, client_id, refresh_seq, next_seq, issuance_id } = rotation;
  const isCurrent = sql`client_id = ${client_id} and redeemed_at is not null
           and (dpop_jkt is null or dpop_jkt = ${rotation.jkt ?? ''})
           and (refresh_seq = ${refresh_seq} or refresh_seq = ${next_seq} and issuance_id = ${issuance_id})
           and revoked_at is null and idle_expires_at > ${now} and expires_at > ${now} and ${isUsable}`;
  const bound = (rotation.isBound && rotation.jkt) || '';
  const swap = sql`update grants set refresh_seq = ${next_seq}, refreshed_at = ${now}, issuance_id = ${issuance_id},
               dpop_jkt = case when ${bound} = '' then dpop_jkt else ${bound} end,
               unanswered_until = case when issuance_id = ${issuance_id} then unanswered_until end,
               idle_expires_at = ${rotation.idle_expires_at}${noteUse(rotation.used_by)}${noteStatusRef(rotation.status_ref, now)}
         where grant_id = ${grant_id} and ${onFoundRow(isCurrent)}
     returning ${IssuableGrant.columns}`;
  const { rows } = await db.of(grant_id).run(IssuableGrant, combinable(swap, grant_id), prepare);
  return rows[0];
}

/** The client may not have received the answer to this issuance. `key` is the id of the grant, or the hash of its code. */
export const markUnanswered = (issuance: { key: string; issuance_id: string; until: number }): Sql =>
  sql`update grants set unanswered_until = ${issuance.until}
       where (grant_id = ${issuance.key} or code_hash = ${issuance.key}) and issuance_id = ${issuance.issuance_id}`;

/** Ends some grants of a user to a client that were not used for too long. */
export function expireIdleGrants(db: Db, user_id: UserId, client_id: ClientId, now: number) {
  const batch = newId('lo');
  const grants = sql`update grants set revoked_at = ${now}, revoked_reason = 'expired', ${markForLogout(batch)}
                      where revoked_at is null and grant_id in (${idleGrants(user_id, client_id, now)})`;
  return db.of(user_id).change({ run: { grants, logouts: enqueueLogouts(batch, now) } });
}

/** Changes no row if the grant is revoked already. */
export const setRevoked = (grant_id: GrantId, reason: RevocationReason, now: number, batch: string): Sql =>
  sql`update grants set revoked_at = ${now}, revoked_reason = ${reason}, ${markForLogout(batch)}
       where grant_id = ${grant_id} and revoked_at is null and not ${isRevokedInBulk}`;

/**
 * Revokes many grants with this change: a few on their rows, and more by a bulk revocation, which every read of a grant takes
 * into account. Their clients are notified.
 */
export const revokeGrants = (scope: ScopeOfUser, reason: RevocationReason, now: number): Sql[] => [
  raiseGrantsEpochOfUser(scope.user_id),
  ...endGrants(scope, reason, now),
];

/**
 * The same for all grants to a client, which are in every part: `inEachPart` comes before `shared`, where the client is. If that never
 * follows, what was signed in with the client during some minutes is revoked, too.
 */
export const revokeGrantsToClient = (client_id: ClientId, reason: RevocationReason, now: number) => ({
  inEachPart: endGrants({ client_id }, reason, now),
  shared: raiseGrantsEpochOfClient(client_id),
});

function endGrants(scope: RevocationScope, reason: RevocationReason, now: number): Sql[] {
  const batch = newId('lo');
  const isOfClient = !('user_id' in scope);
  return [
    sql`update grants set revoked_at = coalesce(${pendingRevocation.ended_at}, ${now}),
               revoked_reason = coalesce(${pendingRevocation.reason}, ${reason}), ${isOfClient ? markAll(batch) : markForLogout(batch)}
         where ${writtenAtOnce(scope)}`,
    ...(isOfClient ? [noteLostOf(batch, reason)] : []),
    enqueueLogouts(batch, now),
    insertBulkRevocation({ ending_id: newId('end'), reason, ended_at: now }, scope),
  ];
}

/** Writes a bulk revocation to some of its grants. @returns how many: fewer than `rows` if few are left or another node has them. */
export async function applyBulkRevocation(part: Part, revocation: BulkRevocation, rows: number, now: number) {
  const { ended_at, reason } = revocation;
  const batch = newId('lo');
  const isOfClient = revocation.user_id === null;
  const { results } = await part.change({
    run: {
      grants: sql`update grants set revoked_at = ${ended_at}, revoked_reason = ${reason}, revoked_in_bulk = 1, ${isOfClient ? markAll(batch) : markForLogout(batch)}
                   where revoked_at is null
                     and ${inOneSlice('grants', 'grant_id', notYetApplied(revocation), rows)}`,
      lost: isOfClient ? noteLostOf(batch, reason) : undefined,
      logouts: enqueueLogouts(batch, now, ended_at),
    },
  });
  return results.grants.changes;
}

const deleteSlice = (part: Part, condition: Sql, rows: number) =>
  part.run(sql`delete from grants where ${inOneSlice('grants', 'grant_id', condition, rows)}`);

/** Another request may be redeeming one at this moment. */
export async function deleteSurplusCodes(db: Db, made: GrantKeys, now: number): Promise<void> {
  const ids = await findSurplusCodes(db, made, now);
  const codes = ids.map((id) => sql`delete from grants where grant_id = ${id} and redeemed_at is null`);
  await db.of(made.user_id).change({ run: { codes } });
}

/** Another request may be revoking one at this moment. */
export const deleteSurplusExpired = (db: Db, { user_id, client_id }: GrantKeys, now: number) =>
  db
    .of(user_id)
    .run(sql`delete from grants where revoked_at is null and grant_id in (${surplusExpired(user_id, client_id, now)})`);

/** With a revocation, after which there may be too many. */
export const deleteSurplusRevoked = (user_id: UserId, now: number): Sql =>
  sql`delete from grants where grant_id in (${surplusRevoked(user_id)}) and not ${mayHaveStatus(now)}`;

const UserPlace = row('users', { user_id: id<UserId>() });

/**
 * Deletes codes that were never redeemed, of some users who follow one another, and no more than a slice. No index has such codes,
 * since each redemption would have to write it.
 * @param after the last user of the slice before.
 * @returns after whom to go on; undefined when there are no more users.
 */
export async function purgeUnredeemedCodes(part: Part, expiredBefore: number, after: UserId, users: number) {
  const followers = sql`select user_id from users where user_id > ${after} order by user_id`;
  const isOld = sql`redeemed_at is null and code_expires_at < ${expiredBefore} and revoked_at is null
                      and user_id in (${followers} limit ${users})`;
  const { changes } = await deleteSlice(part, isOld, sliceRows);
  if (changes === sliceRows) return { changes, after };
  const last = await part.get(UserPlace, sql`${followers} limit 1 offset ${users - 1}`);
  return { changes, after: last?.user_id };
}

/**
 * When a grant ended or will end; null while its client is still to be notified of the end of the session. Spelled as in the index
 * `grants_by_expiry`.
 */
const end = sql`case when expiry_check_at is null then coalesce(revoked_at, expires_at) else revoked_at end`;

/**
 * Grants that were revoked, or whose tokens have all expired. Nothing needs a revoked one: without a row a token is as inactive,
 * and a code or refresh token as refused.
 */
export const purgeEndedGrants = (part: Part, endedBefore: number, rows: number) =>
  deleteSlice(part, sql`${end} < ${endedBefore} order by ${end}`, rows);

/**
 * Deletes a slice of grants with their user or client. What is remembered and what is deleted is what this change has marked: on PostgreSQL
 * each step sees what others have committed meanwhile, and would choose other rows.
 */
function deleteRemembered(slice: Sql, now: number, note: (deleted: Sql) => Sql | undefined = () => undefined) {
  const batch = newId('lo');
  const mine = sql`logout_batch = ${batch}`;
  return {
    marked: sql`update grants set ${markAll(batch)} where ${slice}`,
    recent: rememberDeleted(mine, now),
    lost: note(mine),
    deleted: sql`delete from grants where ${mine}`,
  };
}

/** For a client that is being deleted. */
export async function deleteGrantsToClient(
  part: Part,
  client_id: ClientId,
  rows: number,
  now: number,
): Promise<{ changes: number }> {
  const slice = inOneSlice('grants', 'grant_id', sql`client_id = ${client_id}`, rows);
  const { deleted } = (await part.change({ run: deleteRemembered(slice, now, noteLostWithDeleted) })).results;
  if (deleted.changes === rows) return deleted;
  // Rows that another node was deleting were counted in the slice.
  const isLeft = await part.holds(sql`exists (select 1 from grants where client_id = ${client_id})`);
  return isLeft ? { changes: rows } : deleted;
}

// Ends that no request makes, of grants whose clients want to be notified (Back-Channel Logout 1.0).

/**
 * Ends a slice of the grants that have expired: with `offline_access` once no refresh token works any more, without it once
 * the session has expired. A session that ended as surplus ends nothing.
 */
export async function expireGrants(part: Part, now: number, rows: number): Promise<{ changes: number }> {
  const batch = newId('lo');
  const isDue = sql`expiry_check_at <= ${now} and revoked_at is null`;
  const hasEnded = sql`redeemed_at is not null and (idle_expires_at <= ${now} or expires_at <= ${now}) and (${isLasting} or not exists
        (select 1 from sessions s
          where s.session_id = grants.session_id
            and (s.end_reason = 'surplus' or s.ended_at is null and s.idle_expires_at > ${now} and s.expires_at > ${now})))`;
  const slice = inOneSlice('grants', 'grant_id', sql`${isDue} order by expiry_check_at`, rows);
  const { results } = await part.change({
    run: {
      ended: sql`update grants set revoked_at = ${now}, revoked_reason = 'expired', ${markForLogout(batch)}
                  where ${slice} and ${isDue} and ${hasEnded}`,
      logouts: enqueueLogouts(batch, now),
      // Of those that are left, one is a code that was not redeemed, or was refreshed, or its session goes on, or that ended as
      // surplus.
      later: sql`update grants set expiry_check_at = case when redeemed_at is null then null
                                                          when not (${isLasting}) then ${sessionEnd}
                                                          when idle_expires_at < expires_at then idle_expires_at
                                                          else expires_at end
                  where ${slice} and ${isDue} and not (${hasEnded})`,
    },
  });
  return { changes: results.ended.changes + results.later.changes };
}

/** An account is deleted in slices within this time, in which a client is notified once of each session. */
const deletionSeconds = 86_400;

/** For a user who is being deleted. What was not revoked yet is revoked first, so that its clients are notified. */
export async function deleteGrantsOfUser(
  db: Db,
  user_id: UserId,
  rows: number,
  now: number,
): Promise<{ changes: number }> {
  const batch = newId('lo');
  const sliceOf = (state: Sql) => inOneSlice('grants', 'grant_id', sql`user_id = ${user_id} and ${state}`, rows);
  const part = db.of(user_id);
  const { results } = await part.change({
    run: {
      revoked: sql`update grants set revoked_at = ${now}, revoked_reason = 'user_disabled', ${markForLogout(batch)}
                    where revoked_at is null and ${sliceOf(sql`revoked_at is null`)}`,
      logouts: enqueueLogouts(batch, now, now - deletionSeconds),
      ...deleteRemembered(sliceOf(sql`revoked_at is not null`), now),
    },
  });
  if (results.deleted.changes === rows) return results.deleted;
  // Rows that another node was deleting were counted in the slice.
  const isLeft = await part.holds(sql`exists (select 1 from grants where user_id = ${user_id})`);
  return isLeft ? { changes: rows } : results.deleted;
}
