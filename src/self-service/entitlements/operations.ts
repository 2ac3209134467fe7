import Type from 'typebox';
import { signedIn } from '../../authentication/sessions/session.ts';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { accessToken } from '../../platform/http/access.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';

export const readEntitlements: OperationDescription = {
  id: 'listOwnEntitlements',
  tag: 'Entitlements',
  summary: 'List your entitlements across products',
  description:
    'With a session, or with an access token of the scope `entitlements:read`. With both the token alone counts; an `Authorization` header of another scheme is ignored.',
  access: [signedIn, accessToken],
  answers: {
    200: {
      description: 'Your entitlements, ordered by product.',
      schema: Type.Object({ entitlements: Type.Array(Entitlement) }),
    },
  },
  refusals: ['invalid_token', 'insufficient_scope'],
};
