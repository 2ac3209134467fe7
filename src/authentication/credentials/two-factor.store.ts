import type { Db, Part } from '../../platform/db/db.ts';
import { exportedTable } from '../../platform/db/exported-table.ts';
import { askAll } from '../../platform/db/parts.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../../platform/db/sql.ts';
import type { SessionId, UserId } from '../../platform/ids.ts';

/** One row a user. `secret_sealed` is active once `confirmed_at` is set; `pending_secret_sealed` waits beside it. */
const TotpRow = row('totp', {
  user_id: id<UserId>(),
  pending_secret_sealed: nullable(text),
  /** The only session that may see and confirm the pending secret: else the owner could confirm that of a thief. */
  pending_session_id: nullable(id<SessionId>()),
  pending_expires_at: nullable(integer),
  /** Codes that were checked for the pending secret. */
  pending_tries: nullable(integer),
  secret_sealed: nullable(text),
  confirmed_at: nullable(integer),
  /** The newest time step that was accepted. Only newer ones are. */
  last_step: nullable(integer),
  last_used_at: nullable(integer),
});
export type TotpRow = RowOf<typeof TotpRow>;

/** A secret that was shown and not yet confirmed (decisions §3). */
const pendingTotpSeconds = 600;
export const triesPerEnrollment = 5;

/** The user has TOTP as a second factor. @param user_id an id, or a column of the statement around it. */
export const hasTotp = (user_id: UserId | Sql): Sql =>
  sql`exists (select 1 from totp t where t.user_id = ${user_id} and t.confirmed_at is not null)`;

export const findTotp = (db: Db, user_id: UserId) =>
  db.of(user_id).get(TotpRow, sql`select ${TotpRow.columns} from totp where user_id = ${user_id}`);

export const isTotpActive = (db: Db, user_id: UserId): Promise<boolean> => db.of(user_id).holds(hasTotp(user_id));

export type Enrolling = { user_id: UserId; session_id: SessionId };

/** Replaces an earlier pending secret; the active one stays. */
export const setPendingTotp = ({ user_id, session_id }: Enrolling, pending_secret_sealed: string, now: number): Sql =>
  sql`insert into totp ${TotpRow.values({
    user_id,
    pending_secret_sealed,
    pending_session_id: session_id,
    pending_expires_at: now + pendingTotpSeconds,
    pending_tries: 0,
  })}
      on conflict (user_id) do update set pending_secret_sealed = excluded.pending_secret_sealed,
        pending_session_id = excluded.pending_session_id, pending_expires_at = excluded.pending_expires_at,
        pending_tries = 0`;

/** For a change that ends everything others may have begun: the pending secret can no longer be confirmed. */
export const deletePendingTotp = (user_id: UserId): Sql =>
  sql`update totp set pending_secret_sealed = null, pending_session_id = null, pending_expires_at = null,
             pending_tries = null
       where user_id = ${user_id}`;

const PendingSecret = row('totp', { pending_secret_sealed: text });

/** Before the code is checked. @returns the sealed secret that may be confirmed; undefined if none is pending. */
export async function consumePendingTry(db: Db, { user_id, session_id }: Enrolling, now: number) {
  const { rows } = await db.of(user_id).run(
    PendingSecret,
    sql`update totp set pending_tries = pending_tries + 1
         where user_id = ${user_id} and pending_session_id = ${session_id} and pending_expires_at > ${now}
           and pending_tries < ${triesPerEnrollment}
        returning pending_secret_sealed`,
  );
  return rows[0]?.pending_secret_sealed;
}

type Confirmation = { user_id: UserId; secret_sealed: string; step: number };

/** Uses up the step that confirmed the pending secret. Changes nothing if another one is pending. */
export const activateTotp = ({ user_id, secret_sealed, step }: Confirmation, now: number): Sql =>
  sql`update totp set secret_sealed = pending_secret_sealed, confirmed_at = ${now}, last_step = ${step},
             last_used_at = ${now}, pending_secret_sealed = null, pending_session_id = null,
             pending_expires_at = null, pending_tries = null
       where user_id = ${user_id} and pending_secret_sealed = ${secret_sealed}`;

/** Of a user without one, whose authenticator app knows the secret already. No code of a step up to this one is accepted. */
export const insertActiveTotp = (
  { user_id, secret_sealed, step }: Confirmation,
  confirmed_at: number,
  last_used_at?: number,
): Sql =>
  sql`insert into totp ${TotpRow.values({ user_id, secret_sealed, confirmed_at, last_step: step, last_used_at })}`;

export const isPendingTotp = (user_id: UserId, secret_sealed: string): Sql =>
  sql`exists (select 1 from totp where user_id = ${user_id} and pending_secret_sealed = ${secret_sealed})`;

export const isActiveTotp = (user_id: UserId, secret_sealed: string): Sql =>
  sql`exists (select 1 from totp
               where user_id = ${user_id} and secret_sealed = ${secret_sealed} and confirmed_at is not null)`;

/** Uses up a time step: once, and only if it is newer than every one before (RFC 6238 §5.2). */
export async function consumeStep(db: Db, { user_id, secret_sealed, step }: Confirmation, now: number) {
  const { changes } = await db.of(user_id).run(
    sql`update totp set last_step = ${step}, last_used_at = ${now}
         where user_id = ${user_id} and secret_sealed = ${secret_sealed} and confirmed_at is not null
           and last_step < ${step}`,
  );
  return changes === 1;
}

export const deleteTotp = (user_id: UserId): Sql => sql`delete from totp where user_id = ${user_id}`;

const BackupCodeCount = row('backup_codes', { total: integer, remaining: integer, generated_at: nullable(integer) });
export type BackupCodeCount = RowOf<typeof BackupCodeCount>;

export async function countBackupCodes(db: Db, user_id: UserId): Promise<BackupCodeCount> {
  const counted = await db.of(user_id).get(
    BackupCodeCount,
    sql`select count(*) as total, count(*) - count(used_at) as remaining, max(generated_at) as generated_at
          from backup_codes where user_id = ${user_id}`,
  );
  return counted ?? { total: 0, remaining: 0, generated_at: null };
}

export const deleteBackupCodes = (user_id: UserId): Sql => sql`delete from backup_codes where user_id = ${user_id}`;

const TotpUser = TotpRow.pick('user_id');

/** Of the users after one, in the order of their ids: no code of a time step up to this one is accepted any more. */
export async function refuseTimeSteps(part: Part, step: number, after: string, rows: number): Promise<string[]> {
  const changed = await part.run(
    TotpUser,
    sql`update totp set last_step = ${step}
         where user_id in (select user_id from totp where user_id > ${after} order by user_id limit ${rows})
        returning user_id`,
  );
  return changed.rows.map(({ user_id }) => user_id);
}

/** @param code_hashes of new codes, which replace all earlier ones. */
export const replaceBackupCodes = (user_id: UserId, code_hashes: readonly string[], now: number): Sql[] => [
  deleteBackupCodes(user_id),
  ...code_hashes.map(
    (code_hash) =>
      sql`insert into backup_codes (code_hash, user_id, generated_at) values (${code_hash}, ${user_id}, ${now})`,
  ),
];

/** @param code_hashes of one code, under each key that counts. */
export async function consumeBackupCode(
  db: Db,
  user_id: UserId,
  code_hashes: readonly string[],
  now: number,
): Promise<boolean> {
  const { changes } = await db.of(user_id).run(
    sql`update backup_codes set used_at = ${now}
         where code_hash in ${oneOf(code_hashes)} and user_id = ${user_id} and used_at is null`,
  );
  return changes === 1;
}

export const exportedBackupCodes = exportedTable('backup_codes', {
  row: row('backup_codes', {
    code_hash: text,
    user_id: id<UserId>(),
    generated_at: integer,
    used_at: nullable(integer),
  }),
  where: sql`exists (select 1 from users u where u.user_id = backup_codes.user_id and u.deleted_at is null)`,
});

export const someBackupCodes = async (db: Db): Promise<boolean> =>
  (await askAll(db, (part) => part.holds(sql`exists (select 1 from backup_codes)`))).includes(true);
