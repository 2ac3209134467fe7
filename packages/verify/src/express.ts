import { authorizationOf } from './bearer.ts';
import type { AccessTokenClaims } from './claims.ts';
import { requestGuard } from './guard.ts';
import { scopesOf } from './scopes.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

declare global {
  namespace Express {
    interface Request {
      /** The claims of the access token, in a route behind `requireToken` or `requireScope`. */
      auth?: AccessTokenClaims;
    }
  }
}

/** What is used of `node:http`, so that no types of Express or Node are needed. */
type Request = Parameters<typeof authorizationOf>[0] & { auth?: AccessTokenClaims };
type Response = { statusCode: number; setHeader(name: string, value: string): unknown; end(body: string): unknown };
type Middleware = (request: Request, response: Response, next: (error?: unknown) => void) => Promise<void>;

/**
 * Middleware that answers a request without a valid token, or without the scope, and otherwise sets `req.auth`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', requireScope('orders:read'), (req, res) => res.json(ordersOf(req.auth!.sub)));
 */
export function bearerAuth(verify: Verifier): {
  requireToken: Middleware;
  requireScope: (...scope: string[]) => Middleware;
} {
  const guard = requestGuard<Request>(verify, authorizationOf);
  const requireScope = (...scope: string[]): Middleware => {
    const needed = scopesOf(scope);
    return async (request, response, next) => {
      try {
        request.auth = await guard(request, needed);
      } catch (error) {
        if (error instanceof TokenError) answer(response, error);
        else next(error);
        return;
      }
      next();
    };
  };
  return { requireToken: requireScope(), requireScope };
}

function answer(response: Response, { status, headers, body }: TokenError): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
}
