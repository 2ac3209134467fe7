import type { Deps } from '../deps.ts';
import { requireUser } from '../users/administer-user.ts';
import { type EntitlementVersion, listStoredEntitlements, listVersions, type StoredEntitlement } from './store.ts';

type EntitlementHistory = {
  /** What counts now, by product. */
  entitlements: StoredEntitlement[];
  /** Every write that was applied, newest first. */
  versions: EntitlementVersion[];
};

const mostVersions = 200;

/** What a person is entitled to, and how it came to be. @throws {RequestError} `not_found`. */
export async function entitlementHistory(
  deps: Pick<Deps, 'db'>,
  user_id: string,
  limit: number = mostVersions,
): Promise<EntitlementHistory> {
  await requireUser(deps, user_id);
  const [entitlements, versions] = await Promise.all([
    listStoredEntitlements(deps.db, user_id),
    listVersions(deps.db, user_id, limit),
  ]);
  return { entitlements, versions };
}
