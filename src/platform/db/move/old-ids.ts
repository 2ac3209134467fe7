import { bucketOf } from '../../ids.ts';
import type { OneDb } from '../db.ts';
import { integer, nullable, row, text } from '../rows.ts';
import { asBigint, raw, type Sql, sql } from '../sql.ts';
import { MoveRefused } from './refused.ts';

/** What has an id that leads to its user. `bucketAt`: where that has the bucket, from 1. */
const withIds = [
  { table: 'sessions', called: 'sessions', id: 'session_id', bucketAt: 13, over: 'ended_at' },
  { table: 'grants', called: 'grants of clients', id: 'grant_id', bucketAt: 12, over: 'revoked_at' },
] as const;
/** What is known by a secret, of which only a digest is stored: when it was made has to say it. They end within days. */
const withSecrets = [
  { table: 'sign_in_attempts', called: 'sign-ins under way' },
  { table: 'one_time_links', called: 'links in mails and invitations' },
] as const;

const Old = row('what is presented', { found: integer, until: nullable(integer) });
const Own = row('what has an id', { id: text, user_id: text, expires_at: integer });
const Applied = row('schema_migrations', { applied_at: integer });
type Left = { called: string; found: number; until: number };

const isMadeHere = `substr(user_id, 1, 4) = 'usr_' and length(user_id) = 26`;
const page = 500;

/**
 * A store can be divided once whatever opens it says whose it is (decision 67).
 * @param now Unix seconds.
 * @throws {MoveRefused} while something is left that was made before.
 */
export async function refuseOldIds(db: OneDb, now: number): Promise<void> {
  const began = await bucketsBeganAt(db);
  const left: Left[] = [];
  for (const one of withIds) left.push(await countOldIds(db, one, now));
  for (const { table, called } of withSecrets) {
    left.push(
      await countOld(db, called, sql`${raw(table)} where expires_at > ${now} and created_at < ${asBigint(began)}`),
    );
  }
  const some = left.filter(({ found }) => found > 0);
  if (some.length === 0) return;
  const last = new Date(Math.max(...some.map(({ until }) => until)) * 1000).toISOString().slice(0, 10);
  throw new MoveRefused(
    `This store cannot be divided yet: ${some.map(({ called, found }) => `${found} ${called}`).join(', ')} were made by a version whose ids do not say whose they are, and in cells they would not be found. The last of them ends on ${last}; move then. Nothing was changed.`,
  );
}

/** When this store got its first version whose ids have buckets; 0 if it never had another. */
async function bucketsBeganAt(db: OneDb): Promise<number> {
  const rows = await db.all(
    Applied,
    sql`select applied_at from schema_migrations
         where name in ('0001-foundation', '0079-placement-keys') order by name`,
  );
  const [first, buckets] = rows;
  return first?.applied_at === buckets?.applied_at ? 0 : (buckets?.applied_at ?? 0);
}

async function countOld(db: OneDb, called: string, from: Sql): Promise<Left> {
  const old = await db.get(Old, sql`select count(*) as found, max(expires_at) as until from ${from}`);
  return { called, found: old?.found ?? 0, until: old?.until ?? 0 };
}

/** Of users whose id came from another product, the bucket is that of a hash, which no statement can make. */
async function countOldIds(db: OneDb, { table, called, id, bucketAt, over }: (typeof withIds)[number], now: number) {
  const isActive = sql`expires_at > ${now} and ${raw(over)} is null`;
  const differs = `substr(${id}, ${bucketAt}, 2) <> substr(user_id, 13, 2)`;
  const old = await countOld(
    db,
    called,
    sql`${raw(table)} where ${isActive} and ${raw(`${isMadeHere} and ${differs}`)}`,
  );
  for (let after = '', isLast = false; !isLast; ) {
    const rows = await db.all(
      Own,
      sql`select ${raw(id)} as id, user_id, expires_at from ${raw(table)}
           where ${isActive} and not (${raw(isMadeHere)}) and ${raw(id)} > ${after} order by ${raw(id)} limit ${page}`,
    );
    const some = rows.filter((one) => bucketOf(one.id) !== bucketOf(one.user_id));
    old.found += some.length;
    old.until = some.reduce((until, { expires_at }) => Math.max(until, expires_at), old.until);
    after = rows.at(-1)?.id ?? after;
    isLast = rows.length < page;
  }
  return old;
}
