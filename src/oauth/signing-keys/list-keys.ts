import { algorithms } from '../../clients/signing-algorithm.ts';
import type { Db } from '../../platform/db/db.ts';
import type { Deps } from '../../platform/deps.ts';
import { listSigningKeys, type SigningKeyRow } from './store.ts';

/** A signing key without its private half. Times are Unix seconds. */
export type KeyRecord = Pick<
  SigningKeyRow,
  'kid' | 'algorithm' | 'status' | 'created_at' | 'activated_at' | 'retired_at'
>;

/** By algorithm, oldest first. */
export const listKeys = async (deps: Pick<Deps, 'db'>): Promise<KeyRecord[]> =>
  (await listSigningKeys(deps.db)).map(({ kid, algorithm, status, created_at, activated_at, retired_at }) => ({
    kid,
    algorithm,
    status,
    created_at,
    activated_at,
    retired_at,
  }));

/** @returns whether each algorithm has an active key with its private half. */
export async function canSign(db: Db): Promise<boolean> {
  const keys = await listSigningKeys(db);
  return algorithms.every((algorithm) =>
    keys.some((key) => key.algorithm === algorithm && key.status === 'active' && key.private_key_sealed !== null),
  );
}
