import type { Deps } from '../deps.ts';
import { invalidFields } from '../errors.ts';
import { requireUser } from '../users/administer-user.ts';
import {
  type EntitlementVersion,
  listStoredEntitlements,
  listVersions,
  type StoredEntitlement,
  type VersionPlace,
} from './store.ts';

export type EntitlementHistory = {
  /** What counts now, by product: all of it, however little of the history is asked for. */
  entitlements: StoredEntitlement[];
  /** Writes that were applied, newest first. */
  versions: EntitlementVersion[];
  /** For `before`; undefined on the last page. */
  next: string | undefined;
};

/**
 * What a person is entitled to, and how it came to be. For administrators: it has what sources keep for themselves.
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
  const search = { product, before: before === undefined ? undefined : placeOf(before), limit: limit + 1 };
  const [entitlements, found] = await Promise.all([
    listStoredEntitlements(deps.db, user_id),
    listVersions(deps.db, user_id, search),
  ]);
  const versions = found.slice(0, limit);
  const last = versions.at(-1);
  return { entitlements, versions, next: found.length > limit && last ? nameOf(last) : undefined };
}

const nameOf = ({ written_at, version, product }: VersionPlace): string => `${written_at}-${version}-${product}`;

function placeOf(name: string): VersionPlace {
  const [, written_at, version, product] = /^(\d{1,12})-(\d{1,16})-([\w.:-]{1,100})$/.exec(name) ?? [];
  const place = { written_at: Number(written_at), product: product ?? '', version: Number(version) };
  if (product !== undefined && Number.isSafeInteger(place.version)) return place;
  throw invalidFields([{ path: 'before', message: 'Must be next of the page before.' }]);
}

/** As programs are told it: metadata is what was written. */
export const historyRecord = ({ entitlements, versions, next }: EntitlementHistory) => ({
  entitlements: entitlements.map(withMetadata),
  versions: versions.map(withMetadata),
  next: next ?? null,
});

const withMetadata = <Row extends { metadata: string | null }>(row: Row) => ({
  ...row,
  metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as unknown),
});
