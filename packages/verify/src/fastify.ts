import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorizationOf } from './bearer.ts';
import type { AccessTokenClaims } from './claims.ts';
import { requestGuard } from './guard.ts';
import { scopesOf } from './scopes.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The claims of the access token, in a route behind `requireToken` or `requireScope`. */
    auth?: AccessTokenClaims;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * `onRequest` hooks that answer a request without a valid token, or without the scope, and otherwise set `request.auth`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', { onRequest: requireScope('orders:read') }, (request) => ordersOf(request.auth!.sub));
 */
export function bearerAuth(verify: Verifier): { requireToken: Hook; requireScope: (...scope: string[]) => Hook } {
  const guard = requestGuard<FastifyRequest>(verify, ({ raw, headers }) =>
    authorizationOf({ headers, rawHeaders: raw.rawHeaders }),
  );
  const requireScope = (...scope: string[]): Hook => {
    const needed = scopesOf(scope);
    return async (request, reply) => {
      try {
        request.auth = await guard(request, needed);
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        return reply.code(error.status).headers(error.headers).send(error.body);
      }
    };
  };
  return { requireToken: requireScope(), requireScope };
}
