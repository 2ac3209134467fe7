import { entitlementStatuses } from '../../entitlements/entitlement.ts';
import { exportEntitlements, findEntitlements } from '../../entitlements/find-entitlements.ts';
import { now } from '../../platform/clock.ts';
import { csvName, csvType } from '../../platform/csv.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { paging } from '../../platform/http/paging.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';

const filter = {
  product: Type.Optional(Type.String({ description: 'Only those of this product.' })),
  plan: Type.Optional(Type.String({ description: 'Only those of this plan of the product.' })),
  status: Type.Optional(Type.Enum([...entitlementStatuses], { description: 'Only those with this status.' })),
};

/** Of all users. Those of one user, with their history, are in `../users/access-operations.ts`. */
export const entitlementOperations = {
  list: operation({
    ...administration('entitlements:read'),
    id: 'listEntitlements',
    method: 'GET',
    path: '/v1/admin/entitlements',
    summary: 'List current entitlements of all users',
    query: { ...filter, ...paging },
    answer: {
      description: 'The last changed first.',
      schema: Type.Object({
        entitlements: Type.Array(
          Type.Object({
            user_id: Type.String(),
            email: Type.String(),
            name: nullable(Type.String()),
            product: Type.String(),
            plan: Type.String(),
            status: Type.Enum([...entitlementStatuses]),
            current_period_end: nullable(Time),
            source: Type.String(),
            version: Type.Integer({ minimum: 1 }),
            external_customer_id: nullable(Type.String()),
            external_subscription_id: nullable(Type.String()),
            updated_at: Time,
          }),
        ),
        next: nullable(Type.String()),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { entitlements, next = null } = await findEntitlements(deps, query);
      return { entitlements, next };
    },
    command: {
      name: 'entitlements list',
      summary: 'List the current entitlements of all users, last changed first.',
      text: ({ entitlements, next }) =>
        [
          list([
            ['CHANGED', 'PRODUCT', 'PLAN', 'STATUS', 'PERIOD ENDS', 'USER', 'EMAIL'],
            ...entitlements.map((each) => [
              time(each.updated_at),
              each.product,
              each.plan,
              each.status,
              time(each.current_period_end),
              each.user_id,
              each.email,
            ]),
          ]),
          ...(next === null ? [] : [`More results: --after ${next}`]),
        ].join('\n\n'),
    },
  }),

  export: operation({
    ...administration('entitlements:read'),
    id: 'exportEntitlements',
    method: 'GET',
    path: '/v1/admin/entitlements/export',
    summary: 'Export current entitlements as a CSV file',
    query: filter,
    answer: { description: 'The last changed first, as an attachment.', media: ['text/csv'] },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      await findEntitlements(deps, { ...query, limit: 1 }); // a filter that is refused begins no file
      return {
        name: csvName(['entitlements', query.product, query.plan, query.status], now(deps)),
        type: csvType,
        content: exportEntitlements(deps, query),
      };
    },
  }),
};
