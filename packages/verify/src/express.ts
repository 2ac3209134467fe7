import { authorizationOf } from './authorization.ts';
import type { AccessTokenClaims } from './claims.ts';
import { middlewares, requestGuard } from './guard.ts';
import { answerMetadata, resourceOf } from './resource-metadata.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

declare global {
  namespace Express {
    interface Request {
      /** The claims of the access token, in a route behind `requireToken` or another of these. */
      auth?: AccessTokenClaims;
    }
  }
}

/** What is used of `node:http` and Express, so that no types of theirs are needed. */
type Request = Parameters<typeof authorizationOf>[0] & {
  auth?: AccessTokenClaims;
  method?: string | undefined;
  url?: string | undefined;
  /** In a router, `url` lacks the path at which it is mounted. */
  originalUrl?: string | undefined;
};
type Response = {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
};
type Middleware = (request: Request, response: Response, next: (error?: unknown) => void) => Promise<void>;

/**
 * Middleware that answers a request without a valid token, or without what else the route needs, and otherwise sets `req.auth`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', requireScope('orders:read'), (req, res) => res.json(ordersOf(req.auth!.sub)));
 */
export function bearerAuth(verify: Verifier) {
  const guard = requestGuard<Request>(verify, (request) => ({
    authorization: authorizationOf(request),
    dpop: { proof: request.headers.dpop, method: request.method ?? '', path: pathOf(request) },
  }));
  return middlewares<Middleware>((required) => async (request, response, next) => {
    try {
      request.auth = await guard(request, required);
    } catch (error) {
      if (!(error instanceof TokenError)) return next(error);
      const { status, headers, body } = error;
      return send(
        response,
        status,
        { ...headers, 'content-type': 'application/json; charset=utf-8' },
        JSON.stringify(body),
      );
    }
    next();
  });
}

/** Middleware that answers a request for the metadata of the API (RFC 9728): `app.use(protectedResource(verify))`. */
export function protectedResource(verify: Verifier) {
  const resource = resourceOf(verify);
  return (request: Request, response: Response, next: () => void): void => {
    const answer = answerMetadata(resource, request.method ?? '', pathOf(request));
    if (answer) send(response, answer.status, answer.headers, answer.body);
    else next();
  };
}

const pathOf = ({ originalUrl, url = '' }: Request): string => originalUrl ?? url;

function send(response: Response, status: number, headers: Record<string, string>, body: string): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(body);
}
