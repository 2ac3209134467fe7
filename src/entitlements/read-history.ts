import { requireUser } from '../accounts/users.ts';
import { type Cursor, cutPage, decodeCursor } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import { invalidFields } from '../platform/errors.ts';
import { isProduct } from './service-credentials/service-credential.ts';
import { listStoredEntitlements, listVersions, type VersionPlace } from './store.ts';

export type EntitlementHistory = Awaited<ReturnType<typeof entitlementHistory>>;

/**
 * For administrators: with metadata and ids of the sources.
 * @param search.product whose writes are returned; left out: all.
 * @param search.before `next` of the previous page.
 * @returns the current entitlements, by product, however little of the history is requested; the writes that were applied,
 * newest first; and `next`, for `before`, null on the last page.
 * @throws {RequestError} `not_found`; `invalid_request` for a `before` that is not from a page.
 */
export async function entitlementHistory(
  deps: Pick<Deps, 'db'>,
  user_id: string,
  { product, before, limit = 50 }: { product?: string; before?: string; limit?: number } = {},
) {
  await requireUser(deps, user_id);
  const search = { product, before: placeOf(before), limit: limit + 1 };
  const [entitlements, found] = await Promise.all([
    listStoredEntitlements(deps.db, user_id),
    listVersions(deps.db, user_id, search),
  ]);
  const { rows: versions, next = null } = cutPage(found, limit, cursorOf);
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
