import type { Db } from '../db/db.ts';

/** One row a person. `secret_sealed` is in force once `confirmed_at` is set; `pending_secret_sealed` waits beside it. */
export type TotpRow = {
  user_id: string;
  pending_secret_sealed: string | null;
  pending_expires_at: number | null;
  secret_sealed: string | null;
  confirmed_at: number | null;
  /** The newest time step that was accepted. Only newer ones count. */
  last_step: number | null;
  last_used_at: number | null;
};

export const findTotp = (db: Db, user_id: string) =>
  db.get<TotpRow>('select * from totp where user_id = $1', [user_id]);

export type BackupCodeCount = { total: number; remaining: number; generated_at: number | null };

export async function countBackupCodes(db: Db, user_id: string): Promise<BackupCodeCount> {
  const row = await db.get<BackupCodeCount>(
    `select count(*) as total, count(*) - count(used_at) as remaining, max(generated_at) as generated_at
       from backup_codes where user_id = $1`,
    [user_id],
  );
  return row ?? { total: 0, remaining: 0, generated_at: null };
}
