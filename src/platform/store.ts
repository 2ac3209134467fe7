import { createHash } from 'node:crypto';
import type { Db } from './db/db.ts';
import { integer, nullable, row, text } from './db/rows.ts';
import { type Sql, sql } from './db/sql.ts';

const Check = row('master_key_check', { sealed: text });

/** Keeps the first check ever written; later ones are ignored. */
export const keepMasterKeyCheck = (db: Db, sealed: string) =>
  db.shared.run(sql`insert into master_key_check (id, sealed) values ('check', ${sealed}) on conflict do nothing`);

/** Empty before the first start. */
export const findMasterKeyCheck = async (db: Db): Promise<string> =>
  (await db.shared.get(Check, sql`select sealed from master_key_check where id = 'check'`))?.sealed ?? '';

/** If it is that still. */
export const replaceMasterKeyCheck = (from: string, to: string): Sql =>
  sql`update master_key_check set sealed = ${to} where id = 'check' and sealed = ${from}`;

const RetiredKey = row('retired_master_keys', { key_id: text, sealed: text });

/** What is kept of replaced master keys; a few rows. */
export const listRetiredKeys = (db: Db) =>
  db.shared.all(RetiredKey, sql`select ${RetiredKey.columns} from retired_master_keys order by key_id`);

/** If it is that still. */
export const replaceRetiredKey = (key_id: string, from: string, to: string): Sql =>
  sql`update retired_master_keys set sealed = ${to} where key_id = ${key_id} and sealed = ${from}`;

export const keepRetiredKey = (key_id: string, sealed: string): Sql =>
  sql`insert into retired_master_keys ${RetiredKey.values({ key_id, sealed })} on conflict do nothing`;

const PlacementKey = row('placement_keys', { name: text, sealed: text });

export const findPlacementKey = async (db: Db, name: string): Promise<string | undefined> =>
  (await db.shared.get(PlacementKey, sql`select ${PlacementKey.columns} from placement_keys where name = ${name}`))
    ?.sealed;

/** Keeps the first key ever written; later ones are ignored. */
export const keepPlacementKey = (db: Db, name: string, sealed: string) =>
  db.shared.run(sql`insert into placement_keys ${PlacementKey.values({ name, sealed })} on conflict do nothing`);

const Restore = row('restores', { restore_id: text, taken_at: nullable(integer), restored_at: nullable(integer) });

/** The mark of a copy: what has ended since it was taken may be valid in it. */
export const findUnfinishedRestore = (db: Db) =>
  db.shared.get(Restore, sql`select ${Restore.columns} from restores where restored_at is null`);

/** Marks a copy, unless it is marked. @param taken_at null if it is not known. */
export const markCopy = (db: Db, restore_id: string, taken_at: number | null) =>
  db.shared.run(
    sql`insert into restores ${Restore.select({ restore_id, taken_at, restored_at: null })}
         where not exists (select 1 from restores where restored_at is null)`,
  );

/** Under a new id: a backup may be restored several times. */
export const finishRestore = (restore_id: string, restored_at: number): Sql =>
  sql`update restores set restore_id = ${restore_id}, restored_at = ${restored_at} where restored_at is null`;

/**
 * Another text after each restore; empty before the first. Of all restores, a few: times do not say which is the newest, since a
 * clock may be set back.
 */
export async function findGeneration(db: Db): Promise<string> {
  const restores = await db.shared.all(
    Restore,
    sql`select ${Restore.columns} from restores where restored_at is not null order by restore_id`,
  );
  const ids = restores.map(({ restore_id }) => restore_id).join();
  return ids && createHash('sha256').update(ids).digest('base64url');
}
