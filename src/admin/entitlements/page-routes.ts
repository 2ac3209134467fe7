import type { FastifyInstance } from 'fastify';
import { entitlementStatuses, keyOfName } from '../../entitlements/entitlement.ts';
import { type EntitlementFilter, exportEntitlements, findEntitlements } from '../../entitlements/find-entitlements.ts';
import { allCredentials } from '../../entitlements/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { csvName, csvType } from '../../platform/csv.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { pagesOf } from '../page-access.ts';
import { entitlementsPage } from './page.ts';

const path = '/admin/entitlements';

/** Who is entitled to what, across users. */
export async function entitlementPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'entitlements:read');

  pages.show(path, async ({ view, query }) => {
    const [{ filter, ...found }, credentials] = await Promise.all([findAsTyped(query), allCredentials(deps)]);
    const products = [...new Set(credentials.flatMap((one) => one.products))].sort();
    return entitlementsPage(view, {
      ...found,
      filter,
      products,
      leftOut: filter.plan ? undefined : query.plan?.trim(),
    });
  });

  pages.download(`${path}/export`, ({ query }) => {
    const filter = filterOf(query);
    return {
      name: csvName(['entitlements', filter.product, filter.plan, filter.status], now(deps)),
      type: csvType,
      content: exportEntitlements(deps, filter),
    };
  });

  /** By a name as the list shows it, where there is nothing of that key. */
  async function findAsTyped(query: Parameters) {
    const filter = filterOf(query);
    const search = async (filter: EntitlementFilter) => ({
      filter,
      ...(await findEntitlements(deps, { ...filter, after: query.after })),
    });
    const { product, plan } = filter;
    const meant = { ...filter, product: product && keyOfName(product), plan: plan && keyOfName(plan) };
    const found = await search(filter);
    const isOther = meant.product !== product || meant.plan !== plan;
    return isOther && found.entitlements.length === 0 ? search(meant) : found;
  }
}

/** A plan without its product is left out: it would be one of any product. */
function filterOf({ product, plan, status }: Parameters): EntitlementFilter {
  const wanted = product?.trim() || undefined;
  return {
    product: wanted,
    plan: wanted && (plan?.trim() || undefined),
    status: entitlementStatuses.find((one) => one === status),
  };
}
