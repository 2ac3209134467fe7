import type { Algorithm, KeyStatus } from '../../clients/signing-algorithm.ts';
import type { Db, Statement } from '../../platform/db/db.ts';

export type SigningKeyRow = {
  kid: string;
  algorithm: Algorithm;
  status: KeyStatus;
  public_jwk: string;
  /** Null once the key no longer signs. */
  private_key_sealed: string | null;
  created_at: number;
  activated_at: number | null;
  retired_at: number | null;
};

export const listSigningKeys = (db: Db) =>
  db.all<SigningKeyRow>('select * from signing_keys order by algorithm, created_at, kid');

type NewKey = Pick<SigningKeyRow, 'kid' | 'algorithm' | 'public_jwk' | 'private_key_sealed'>;

/** The unique indexes on `status` let one key of an algorithm be active and one be next, whoever else tries. */
export const insertSigningKey = (key: NewKey, status: 'active' | 'next', now: number): Statement => ({
  sql: `insert into signing_keys (kid, algorithm, status, public_jwk, private_key_sealed, created_at, activated_at)
        values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
  params: [
    key.kid,
    key.algorithm,
    status,
    key.public_jwk,
    key.private_key_sealed,
    now,
    status === 'active' ? now : null,
  ],
});

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
 * Three conditional steps that commit together: the active key retires and loses its private half, the next one signs,
 * `successor` is published. Two nodes that rotate at once cannot do it twice: the second finds an active key that is
 * too young.
 */
export const rotateSigningKey = (successor: NewKey, limits: RotationLimits): Statement[] => [
  {
    sql: `update signing_keys set status = 'retiring', retired_at = $2, private_key_sealed = null
           where kid = $1 and status = 'active' and activated_at <= $3
             and exists (select 1 from signing_keys n where n.kid = $5 and n.status = 'next' and n.created_at <= $4)
        returning kid`,
    params: [limits.retires, limits.now, limits.activatedBefore, limits.publishedBefore, limits.activates],
  },
  {
    sql: `update signing_keys set status = 'active', activated_at = $2
           where kid = $1 and status = 'next'
             and exists (select 1 from signing_keys r where r.kid = $3 and r.status = 'retiring' and r.retired_at = $2)
             and not exists (select 1 from signing_keys a
                              where a.algorithm = signing_keys.algorithm and a.status = 'active')`,
    params: [limits.activates, limits.now, limits.retires],
  },
  insertSigningKey(successor, 'next', limits.now),
];

export const deleteRetiredKeys = (db: Db, retiredBefore: number) =>
  db.run(`delete from signing_keys where status = 'retiring' and retired_at <= $1`, [retiredBefore]);
