import Type from 'typebox';
import { signedIn } from '../../authentication/sessions/session.ts';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { accessToken } from '../../platform/http/access.ts';
import type { Operation } from '../../platform/openapi/operation.ts';

export const readEntitlements: Operation = {
  tag: 'Entitlements',
  summary: 'What you are entitled to across products',
  description:
    'With a session, or with an access token of the scope `entitlements:read`. With both the token alone counts; an `Authorization` header of another scheme is ignored.',
  access: [signedIn, accessToken],
  answers: {
    200: { description: 'By product.', schema: Type.Object({ entitlements: Type.Array(Entitlement) }) },
  },
  refusals: ['invalid_token', 'insufficient_scope'],
};
