import type { Db } from '../db/db.ts';

/** Keeps the first check ever written; later ones are ignored. */
export const keepMasterKeyCheck = (db: Db, sealed: string) =>
  db.run(`insert into master_key_check (id, sealed) values ('check', $1) on conflict do nothing`, [sealed]);

export async function findMasterKeyCheck(db: Db): Promise<string> {
  const row = await db.get<{ sealed: string }>(`select sealed from master_key_check where id = 'check'`);
  return row?.sealed ?? '';
}
