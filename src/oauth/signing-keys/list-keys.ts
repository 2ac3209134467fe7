import type { Deps } from '../../platform/deps.ts';
import { listSigningKeys, type SigningKeyRow } from './store.ts';

/** A signing key as people who run the service see it: never its private half. Times are Unix seconds. */
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
