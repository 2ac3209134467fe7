import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';

/** One row a person. `secret_sealed` is in force once `confirmed_at` is set; `pending_secret_sealed` waits beside it. */
export type TotpRow = {
  user_id: string;
  pending_secret_sealed: string | null;
  /** The one session that may see and confirm the pending secret: else a thief's could be confirmed by the owner. */
  pending_session_id: string | null;
  pending_expires_at: number | null;
  /** Codes that were looked at for the pending secret. */
  pending_tries: number | null;
  secret_sealed: string | null;
  confirmed_at: number | null;
  /** The newest time step that was accepted. Only newer ones count. */
  last_step: number | null;
  last_used_at: number | null;
};

/** A secret that was shown and not yet confirmed (decisions §3). */
const pendingTotpSeconds = 600;
/** Codes that are looked at for one pending secret. */
export const triesPerEnrollment = 5;

/** Whether somebody has a second factor, in the SQL of whoever asks. @param user_id a column, or a placeholder. */
export const hasTotp = (user_id: string) =>
  `exists (select 1 from totp t where t.user_id = ${user_id} and t.confirmed_at is not null)`;

export const findTotp = (db: Db, user_id: string) =>
  db.get<TotpRow>('select * from totp where user_id = $1', [user_id]);

/** Whether a code of an authenticator app is asked for at sign-in. */
export async function isTotpActive(db: Db, user_id: string): Promise<boolean> {
  const totp = await findTotp(db, user_id);
  return totp !== undefined && totp.confirmed_at !== null;
}

/** Whose factors, and in which session a secret waits. */
export type Enrolling = { user_id: string; session_id: string };

/** Replaces an earlier pending secret; the one in force stays. */
export const setPendingTotp = (
  { user_id, session_id }: Enrolling,
  pending_secret_sealed: string,
  now: number,
): Statement => ({
  sql: `insert into totp (user_id, pending_secret_sealed, pending_session_id, pending_expires_at, pending_tries)
        values ($1, $2, $3, $4, 0)
        on conflict (user_id) do update set pending_secret_sealed = excluded.pending_secret_sealed,
          pending_session_id = excluded.pending_session_id, pending_expires_at = excluded.pending_expires_at,
          pending_tries = 0`,
  params: [user_id, pending_secret_sealed, session_id, now + pendingTotpSeconds],
});

/** For what ends everything that others may have begun: nobody can confirm what waits. */
export const deletePendingTotp = (user_id: string): Statement => ({
  sql: `update totp set pending_secret_sealed = null, pending_session_id = null, pending_expires_at = null,
               pending_tries = null
         where user_id = $1`,
  params: [user_id],
});

/**
 * Uses up one of the tries of the pending secret, before the code is looked at.
 * @returns what may be confirmed; undefined if nothing waits, or no longer.
 */
export async function consumePendingTry(
  db: Db,
  { user_id, session_id }: Enrolling,
  now: number,
): Promise<string | undefined> {
  const { rows } = await db.run(
    `update totp set pending_tries = pending_tries + 1
      where user_id = $1 and pending_session_id = $3 and pending_expires_at > $2 and pending_tries < ${triesPerEnrollment}
  returning pending_secret_sealed`,
    [user_id, now, session_id],
  );
  return (rows[0] as { pending_secret_sealed: string } | undefined)?.pending_secret_sealed;
}

type Confirmation = { user_id: string; secret_sealed: string; step: number };

/** The pending secret comes into force. The step that confirmed it is used up. */
export const activateTotp = ({ user_id, secret_sealed, step }: Confirmation, now: number): Statement => ({
  sql: `update totp set secret_sealed = pending_secret_sealed, confirmed_at = $3, last_step = $4, last_used_at = $3,
               pending_secret_sealed = null, pending_session_id = null, pending_expires_at = null, pending_tries = null
         where user_id = $1 and pending_secret_sealed = $2`,
  params: [user_id, secret_sealed, now, step],
});

/** The secret that waits is that one. */
export const isPendingTotp = (user_id: string, secret_sealed: string): Condition => ({
  sql: 'exists (select 1 from totp where user_id = $1 and pending_secret_sealed = $2)',
  params: [user_id, secret_sealed],
});

/** The secret in force is that one. */
export const isActiveTotp = (user_id: string, secret_sealed: string): Condition => ({
  sql: 'exists (select 1 from totp where user_id = $1 and secret_sealed = $2 and confirmed_at is not null)',
  params: [user_id, secret_sealed],
});

/**
 * Uses up a time step, of any number of requests at once for one of them alone, and only if it is newer than every one
 * before (RFC 6238 §5.2).
 */
export async function consumeStep(
  db: Db,
  { user_id, secret_sealed, step }: Confirmation,
  now: number,
): Promise<boolean> {
  const { changes } = await db.run(
    `update totp set last_step = $3, last_used_at = $4
      where user_id = $1 and secret_sealed = $2 and confirmed_at is not null and last_step < $3`,
    [user_id, secret_sealed, step, now],
  );
  return changes === 1;
}

/** With the pending secret, too. */
export const deleteTotp = (user_id: string): Statement => ({
  sql: 'delete from totp where user_id = $1',
  params: [user_id],
});

export type BackupCodeCount = { total: number; remaining: number; generated_at: number | null };

export async function countBackupCodes(db: Db, user_id: string): Promise<BackupCodeCount> {
  const row = await db.get<BackupCodeCount>(
    `select count(*) as total, count(*) - count(used_at) as remaining, max(generated_at) as generated_at
       from backup_codes where user_id = $1`,
    [user_id],
  );
  return row ?? { total: 0, remaining: 0, generated_at: null };
}

export const deleteBackupCodes = (user_id: string): Statement => ({
  sql: 'delete from backup_codes where user_id = $1',
  params: [user_id],
});

/** @param code_hashes of new codes, which take the place of all earlier ones. */
export const replaceBackupCodes = (user_id: string, code_hashes: readonly string[], now: number): Statement[] => [
  deleteBackupCodes(user_id),
  ...code_hashes.map((code_hash) => ({
    sql: 'insert into backup_codes (code_hash, user_id, generated_at) values ($1, $2, $3)',
    params: [code_hash, user_id, now],
  })),
];

/** Uses up a backup code: for one of any number of requests at once. */
export async function consumeBackupCode(db: Db, user_id: string, code_hash: string, now: number): Promise<boolean> {
  const { changes } = await db.run(
    'update backup_codes set used_at = $3 where code_hash = $2 and user_id = $1 and used_at is null',
    [user_id, code_hash, now],
  );
  return changes === 1;
}
