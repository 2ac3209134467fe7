import Type from 'typebox';
import { basicCredentials } from '../platform/http/access.ts';
import type { OperationDescription } from '../platform/http/operation.ts';
import { entitlementStatuses, WriteBody } from './entitlement.ts';

export const write: OperationDescription = {
  id: 'writeEntitlement',
  tag: 'Entitlements',
  summary: "Write a user's entitlement to a product",
  description:
    'Applied if `version` is higher than the stored version. A retry with the `event_id` of an applied write returns 200 with `applied: false`.',
  access: [basicCredentials],
  body: {
    schema: WriteBody,
    example: {
      user_id: 'usr_0000000000000000000000',
      product: 'editor',
      plan: 'pro',
      status: 'active',
      source: 'billing',
      version: 1,
      current_period_end: 1830000000,
      event_id: 'evt-1',
    },
  },
  answers: {
    200: {
      description: 'The entitlement is stored, by this request or by an earlier one with the same event.',
      schema: Type.Object({
        user_id: Type.String(),
        product: Type.String(),
        version: Type.Integer({ minimum: 1 }),
        status: Type.Enum([...entitlementStatuses]),
        applied: Type.Boolean(),
      }),
    },
  },
  refusals: ['invalid_client', 'access_denied', 'unknown_user', 'stale_version', 'rate_limited'],
};
