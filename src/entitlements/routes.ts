import type { FastifyInstance } from 'fastify';
import { type Access, readBasic, serviceCredential } from '../platform/http/access.ts';
import { addOperations, operation } from '../platform/http/operation.ts';
import { Type } from '../platform/schema.ts';
import type { Deps } from './deps.ts';
import { entitlementStatuses, readWrite, WriteBody } from './entitlement.ts';
import { authenticateService } from './service-credentials/authenticate-service.ts';
import { type Writer, writeEntitlement } from './write-entitlement.ts';

/**
 * Asked before the body is read and after it, since that may take longer than a credential lasts. The second time costs 5 of the
 * 500 µs of a write, and no statement.
 */
const writer: Access<Deps, { by: Writer }> = {
  ...serviceCredential('entitlements:write'),
  refusals: ['invalid_client', 'access_denied', 'rate_limited'],
  async authenticate(deps, { headers: { authorization }, ip: address }) {
    const credential = await authenticateService(deps, { ...readBasic(authorization), address }, 'entitlements:write');
    return { by: { credential, address } };
  },
};

const write = operation({
  id: 'writeEntitlement',
  method: 'POST',
  path: '/v1/entitlements',
  tag: 'Entitlements',
  access: writer,
  summary: "Write a user's entitlement to a product",
  description:
    'Applied if `version` is higher than the stored version. A retry with the `event_id` of an applied write returns 200 with `applied: false`.',
  body: WriteBody,
  parsesBody: true,
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
  answer: {
    description: 'The entitlement is stored, by this request or by an earlier one with the same event.',
    schema: Type.Object({
      user_id: Type.String(),
      product: Type.String(),
      version: Type.Integer({ minimum: 1 }),
      status: Type.Enum([...entitlementStatuses]),
      applied: Type.Boolean(),
    }),
  },
  refusals: ['unknown_user', 'stale_version'],
  run: (deps, { by, body }) => writeEntitlement(deps, by, readWrite(body)),
});

/** Who is entitled to what across products (specification 2.10, 4.12). */
export const entitlementRoutes = async (app: FastifyInstance, deps: Deps) => addOperations(app, deps, [write]);
