import type { Db } from '../db/db.ts';
import { row, text } from '../db/rows.ts';
import { sql } from '../db/sql.ts';

const Check = row('master_key_check', { sealed: text });

/** Keeps the first check ever written; later ones are ignored. */
export const keepMasterKeyCheck = (db: Db, sealed: string) =>
  db.run(sql`insert into master_key_check (id, sealed) values ('check', ${sealed}) on conflict do nothing`);

/** @returns empty before the first start. */
export const findMasterKeyCheck = async (db: Db): Promise<string> =>
  (await db.get(Check, sql`select sealed from master_key_check where id = 'check'`))?.sealed ?? '';
