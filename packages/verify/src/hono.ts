import type { Context, MiddlewareHandler } from 'hono';
import type { AccessTokenClaims } from './claims.ts';
import { requestGuard } from './guard.ts';
import { scopesOf } from './scopes.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

/** What the middleware sets: `c.get('auth')`. */
export type AuthEnv = { Variables: { auth: AccessTokenClaims } };

/**
 * Middleware that answers a request without a valid token, or without the scope, and otherwise sets `c.get('auth')`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', requireScope('orders:read'), (c) => c.json(ordersOf(c.get('auth').sub)));
 */
export function bearerAuth(verify: Verifier): {
  requireToken: MiddlewareHandler<AuthEnv>;
  requireScope: (...scope: string[]) => MiddlewareHandler<AuthEnv>;
} {
  // Of several headers, the Fetch standard makes one, joined by commas, which no token contains.
  const guard = requestGuard<Context<AuthEnv>>(verify, (c) => c.req.raw.headers.get('authorization'));
  const requireScope = (...scope: string[]): MiddlewareHandler<AuthEnv> => {
    const needed = scopesOf(scope);
    return async (c, next) => {
      try {
        c.set('auth', await guard(c, needed));
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        return c.json(error.body, error.status, error.headers);
      }
      await next();
    };
  };
  return { requireToken: requireScope(), requireScope };
}
