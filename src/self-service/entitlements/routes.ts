import type { FastifyInstance } from 'fastify';
import { requireSession, signedIn } from '../../authentication/sessions/session.ts';
import { hasScope } from '../../clients/scopes.ts';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { listEntitlements } from '../../entitlements/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { ActiveAccessToken } from '../../oauth/token/access-token.ts';
import { findPresentedToken, tokenChallenge } from '../../oauth/token/presented-token.ts';
import { insufficientScope } from '../../platform/errors.ts';
import { accessToken, proofHeader } from '../../platform/http/access.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import { entitlementsPage } from './page.ts';

const listOwnEntitlements: OperationDescription = {
  id: 'listOwnEntitlements',
  tag: 'Entitlements',
  summary: 'List your entitlements across products',
  description:
    'With a session, or with an access token of the scope `entitlements:read`. With both the token alone counts; an `Authorization` header of another scheme is ignored.',
  access: [signedIn, ...accessToken],
  headers: proofHeader,
  answers: {
    200: {
      description: 'Your entitlements, ordered by product.',
      schema: Type.Object({ entitlements: Type.Array(Entitlement) }),
    },
  },
  refusals: ['invalid_token', 'insufficient_scope', 'invalid_dpop_proof', 'use_dpop_nonce'],
};

/** What a user is entitled to across products (specification 2.9, 4.11). */
export async function ownEntitlementRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me/entitlements', { config: { operation: listOwnEntitlements, cors: true } }, async (request, reply) => {
    // A cookie beside a token has no effect, also when the token is refused. Without both: a challenge (RFC 6750 §3).
    reply.header('www-authenticate', tokenChallenge);
    const token = await findPresentedToken(deps, request);
    const { user_id } = token ? subjectOf(token) : await requireSession(deps, request);
    reply.removeHeader('www-authenticate');
    return { entitlements: await listEntitlements(deps.db, user_id) };
  });

  pagesFor(app, deps, signedIn).show('/account/entitlements', async ({ view, session }) =>
    entitlementsPage(view, await listEntitlements(deps.db, session.user_id)),
  );
}

/** @throws {RequestError} `insufficient_scope` without `entitlements:read` (decisions §12). */
function subjectOf({ claims, subject }: ActiveAccessToken) {
  if (!hasScope(claims.scope, 'entitlements:read')) throw insufficientScope('entitlements:read');
  return subject;
}
