import { csvRow } from '../platform/csv.ts';
import { cutPage, decodeCursor, inPages, unknownCursor } from '../platform/db/slices.ts';
import { decodePlace, encodePlace } from '../platform/db/term-search.ts';
import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import { time } from '../platform/report.ts';
import { entitlementStatuses } from './entitlement.ts';
import { isProduct } from './service-credentials/service-credential.ts';
import { type HeldEntitlement, type HeldPlace, listHeldEntitlements } from './store.ts';

export type EntitlementFilter = {
  product?: string;
  /** Of the product: plans of different products have nothing in common. */
  plan?: string;
  status?: HeldEntitlement['status'];
};

/**
 * Current entitlements of all users, the last changed first. Each status is read by itself, so that a list of all of them
 * needs no index of its own.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for a plan without a product, and for an `after` that is not from a page.
 */
export async function findEntitlements(
  { db }: Pick<Deps, 'db'>,
  { after, limit = 50, ...filter }: EntitlementFilter & { after?: string; limit?: number },
): Promise<{ entitlements: HeldEntitlement[]; next: string | undefined }> {
  if (filter.plan !== undefined && filter.product === undefined) {
    throw invalidFields([fieldProblem('plan', { key: 'problem.entitlement.plan' })]);
  }
  const place = placeOf(after);
  const statuses = filter.status === undefined ? entitlementStatuses : [filter.status];
  const found = await Promise.all(
    statuses.map((status) => listHeldEntitlements(db, { ...filter, status, after: place, limit: limit + 1 })),
  );
  // Stable: of one second, those of a status stay together, in the order of the store.
  const merged = found.flat().sort((one, other) => other.updated_at - one.updated_at);
  const { rows: entitlements, next } = cutPage(merged, limit, ({ updated_at, status, user_id, product }) => ({
    at: updated_at,
    id: encodePlace(product, status, user_id),
  }));
  return { entitlements, next };
}

function placeOf(cursor: string | undefined): HeldPlace | undefined {
  const found = decodeCursor('after', cursor);
  if (found === undefined) return undefined;
  const [product, name, user_id] = decodePlace(found.id);
  const status = entitlementStatuses.find((one) => one === name);
  if (status === undefined || user_id === undefined || !isProduct(product)) throw unknownCursor('after');
  return { updated_at: found.at, status, user_id, product };
}

/** Of users the id alone: a file that is passed on tells nothing else of them. */
const columns = {
  user_id: ({ user_id }) => user_id,
  product: ({ product }) => product,
  plan: ({ plan }) => plan,
  status: ({ status }) => status,
  current_period_end: ({ current_period_end: end }) => (end === null ? null : time(end)),
  source: ({ source }) => source,
  external_customer_id: (one) => one.external_customer_id,
  external_subscription_id: (one) => one.external_subscription_id,
  updated_at: ({ updated_at }) => time(updated_at),
} satisfies Record<string, (one: HeldEntitlement) => string | null>;

/** A CSV file of what {@link findEntitlements} finds, a page at a time so that memory stays bounded. */
export async function* exportEntitlements(deps: Pick<Deps, 'db'>, filter: EntitlementFilter): AsyncGenerator<string> {
  yield csvRow(Object.keys(columns));
  yield* inPages(async (after: string | undefined, limit) => {
    const { entitlements, next } = await findEntitlements(deps, { ...filter, after, limit });
    return {
      page: entitlements.map((one) => csvRow(Object.values(columns).map((cellOf) => cellOf(one)))).join(''),
      next,
    };
  });
}
