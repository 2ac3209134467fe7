import type { Context, MiddlewareHandler } from 'hono';
import type { AccessTokenClaims } from './claims.ts';
import { middlewares, requestGuard } from './guard.ts';
import { protectedResource as answering } from './resource-metadata.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

/** What the middleware sets: `c.get('auth')`. */
export type AuthEnv = { Variables: { auth: AccessTokenClaims } };

/**
 * Middleware that answers a request without a valid token, or without what else the route needs, and otherwise sets
 * `c.get('auth')`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', requireScope('orders:read'), (c) => c.json(ordersOf(c.get('auth').sub)));
 */
export function bearerAuth(verify: Verifier) {
  // Of several headers, the Fetch standard makes one, joined by commas, which no token contains.
  const guard = requestGuard<Context<AuthEnv>>(verify, ({ req: { raw } }) => ({
    authorization: raw.headers.get('authorization'),
    dpop: { proof: raw.headers.get('dpop'), method: raw.method, path: new URL(raw.url).pathname },
  }));
  return middlewares<MiddlewareHandler<AuthEnv>>((required) => async (c, next) => {
    try {
      c.set('auth', await guard(c, required));
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return c.json(error.body, error.status, error.headers);
    }
    await next();
  });
}

/** Middleware that answers a request for the metadata of the API (RFC 9728): `app.use(protectedResource(verify))`. */
export function protectedResource(verify: Verifier): MiddlewareHandler {
  const answer = answering(verify);
  return async (c, next) => answer(c.req.raw) ?? next();
}
