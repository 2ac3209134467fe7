import { requireUser } from '../accounts/users.ts';
import { type Cursor, cutPage, decodeCursor } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import { invalidFields } from '../platform/errors.ts';
import { isProduct } from './service-credentials/service-credential.ts';
import {
  type EntitlementVersion,
  listStoredEntitlements,
  listVersions,
  type StoredEntitlement,
  type VersionPlace,
} from './store.ts';

export { type EntitlementVersion, listEntitlements, type StoredEntitlement } from './store.ts';

export type EntitlementHistory = {
  /** What is valid now, by product: all of it, however little of the history is asked for. */
  entitlements: StoredEntitlement[];
  /** Writes that were applied, newest first. */
  versions: EntitlementVersion[];
  /** For `before`; undefined on the last page. */
  next: string | undefined;
};

/**
 * What a user is entitled to, and how it came to be. For administrators: it has what sources keep for themselves.
 * @param search.product writes of this one alone; all without it.
 * @param search.before what the page before gave as `next`.
 * @throws {RequestError} `not_found`; `invalid_request` for a `before` that no page has given.
 */
export async function entitlementHistory(
  deps: Pick<Deps, 'db'>,
  user_id: string,
  { product, before, limit = 50 }: { product?: string; before?: string; limit?: number } = {},
): Promise<EntitlementHistory> {
  await requireUser(deps, user_id);
  const search = { product, before: placeOf(before), limit: limit + 1 };
  const [entitlements, found] = await Promise.all([
    listStoredEntitlements(deps.db, user_id),
    listVersions(deps.db, user_id, search),
  ]);
  const { rows: versions, next } = cutPage(found, limit, cursorOf);
  return { entitlements, versions, next };
}

/** A product is any text, so it travels encoded. */
const cursorOf = ({ written_at, version, product }: VersionPlace): Cursor => ({
  at: written_at,
  id: `${version}.${Buffer.from(product).toString('base64url')}`,
});

function placeOf(name: string | undefined): VersionPlace | undefined {
  const place = decodeCursor('before', name);
  if (place === undefined) return undefined;
  const [, version = '', encoded = ''] = /^(\d{1,16})\.([\w-]{1,600})$/.exec(place.id) ?? [];
  const product = Buffer.from(encoded, 'base64url').toString();
  if (isProduct(product) && Number.isSafeInteger(Number(version))) {
    return { written_at: place.at, version: Number(version), product };
  }
  throw invalidFields([{ path: 'before', message: 'Must be the value of next from the previous page.' }]);
}

/** For programs. */
export const historyRecord = ({ next, ...history }: EntitlementHistory) => ({ ...history, next: next ?? null });
