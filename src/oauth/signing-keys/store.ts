import type { webcrypto } from 'node:crypto';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { Db } from '../../platform/db/db.ts';
import { id, integer, jsonObject, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';

/** `next` is published and does not sign yet; `active` signs; `retiring` is published until its tokens have expired. */
export type KeyStatus = 'next' | 'active' | 'retiring';

const SigningKey = row('signing_keys', {
  kid: text,
  algorithm: id<SigningAlgorithm>(),
  status: id<KeyStatus>(),
  public_jwk: jsonObject<webcrypto.JsonWebKey>(),
  /** Null once the key no longer signs. */
  private_key_sealed: nullable(text),
  created_at: integer,
  activated_at: nullable(integer),
  retired_at: nullable(integer),
});
/** Times are Unix seconds. */
export type SigningKeyRow = RowOf<typeof SigningKey>;

export const listSigningKeys = (db: Db) =>
  db.shared.all(SigningKey, sql`select ${SigningKey.columns} from signing_keys order by algorithm, created_at, kid`);

const KeyRecord = row('signing_keys', {
  kid: text,
  algorithm: id<SigningAlgorithm>(),
  /** `retired` is no longer published, and verifies an `id_token_hint` only. */
  status: id<KeyStatus | 'retired'>(),
  created_at: integer,
  activated_at: nullable(integer),
  retired_at: nullable(integer),
});
/** A signing key as administrators read it: without its private half. */
export type KeyRecord = RowOf<typeof KeyRecord>;

/** By algorithm, oldest first. */
export const listKeyRecords = (db: Db) =>
  db.shared.all(
    KeyRecord,
    sql`select ${KeyRecord.columns} from signing_keys
        union all
        select kid, algorithm, 'retired', created_at, activated_at, retired_at from retired_signing_keys
         order by algorithm, created_at, kid`,
  );

type NewKey = Pick<SigningKeyRow, 'kid' | 'algorithm' | 'public_jwk' | 'private_key_sealed'>;

/** The unique indexes on `status` allow one active and one next key for each algorithm, even in a race. */
export const insertSigningKey = (key: NewKey, status: 'active' | 'next', now: number): Sql => {
  const { kid, algorithm, public_jwk, private_key_sealed } = key;
  const activated_at = status === 'active' ? now : null;
  const inserted = { kid, algorithm, status, public_jwk, private_key_sealed, created_at: now, activated_at };
  return sql`insert into signing_keys ${SigningKey.values(inserted)} on conflict do nothing`;
};

type RotationLimits = {
  now: number;
  /** The key that stops signing and the one that takes over, as they were read; if either has changed since, nothing is done. */
  retires: string;
  activates: string;
  /** Only an active key activated at or before this retires. */
  activatedBefore: number;
  /** Only a next key published at or before this takes over. */
  publishedBefore: number;
};

/**
 * Three steps that are committed together or not at all: the active key retires and loses its private half, the next one
 * becomes active, `successor` is published. Two nodes that rotate at once cannot do it twice: the second finds an active
 * key that is too young.
 */
export const rotateSigningKey = (successor: NewKey, limits: RotationLimits) => {
  const { now, retires, activates } = limits;
  return {
    retired: mustChange(
      sql`update signing_keys set status = 'retiring', retired_at = ${now}, private_key_sealed = null
           where kid = ${retires} and status = 'active' and activated_at <= ${limits.activatedBefore}
             and exists (select 1 from signing_keys n where n.kid = ${activates} and n.status = 'next'
                            and n.created_at <= ${limits.publishedBefore})`,
    ),
    activated: mustChange(
      sql`update signing_keys set status = 'active', activated_at = ${now} where kid = ${activates} and status = 'next'
             and not exists (select 1 from signing_keys a
                              where a.algorithm = signing_keys.algorithm and a.status = 'active')`,
    ),
    published: mustChange(insertSigningKey(successor, 'next', now)),
  };
};

/** None signs any more, nor will; the public halves verify on. */
export const retireAllSigningKeys = (now: number): Sql =>
  sql`update signing_keys set status = 'retiring', retired_at = ${now}, private_key_sealed = null
       where status in ('active', 'next')`;

/** Nothing that they have signed is accepted any more, not even as a hint. */
export const deleteAllSigningKeys: readonly Sql[] = [
  sql`delete from signing_keys`,
  sql`delete from retired_signing_keys`,
];

const RetiredKey = row('retired_signing_keys', {
  algorithm: id<SigningAlgorithm>(),
  public_jwk: jsonObject<webcrypto.JsonWebKey>(),
});

type Retirement = {
  /** Keys that stopped signing at or before this leave the key set. */
  unpublishedBefore: number;
  /** Keys that stopped signing at or before this are deleted. */
  deletedBefore: number;
  /** Of each algorithm; the oldest are deleted first. */
  max: number;
};

/** Moves keys that leave the key set to the retired ones, and deletes those of them that are too old or too many. */
export const retireSigningKeys = ({ unpublishedBefore, deletedBefore, max }: Retirement) => {
  const isUnpublished = sql`status = 'retiring' and retired_at <= ${unpublishedBefore}`;
  return {
    kept: sql`insert into retired_signing_keys (kid, algorithm, public_jwk, created_at, activated_at, retired_at)
              select kid, algorithm, public_jwk, created_at, activated_at, retired_at from signing_keys
               where ${isUnpublished} on conflict do nothing`,
    unpublished: sql`delete from signing_keys where ${isUnpublished}`,
    deleted: sql`delete from retired_signing_keys
                  where retired_at <= ${deletedBefore}
                     or kid in (select kid from (select kid, row_number() over
                                                   (partition by algorithm order by retired_at desc, kid) as place
                                                   from retired_signing_keys) placed
                                 where place > ${max})`,
  };
};

/** @returns undefined also for a key that stopped signing at or before `retiredBefore`. */
export const findRetiredKey = (db: Db, kid: string, retiredBefore: number) =>
  db.shared.get(
    RetiredKey,
    sql`select ${RetiredKey.columns} from retired_signing_keys where kid = ${kid} and retired_at > ${retiredBefore}`,
  );
