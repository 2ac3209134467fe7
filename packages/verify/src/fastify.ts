import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizationOf } from './authorization.ts';
import type { AccessTokenClaims } from './claims.ts';
import { middlewares, requestGuard } from './guard.ts';
import { answerMetadata, resourceOf } from './resource-metadata.ts';
import { TokenError } from './token-error.ts';
import type { Verifier } from './verifier.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The claims of the access token, in a route behind `requireToken` or another of these. */
    auth?: AccessTokenClaims;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * `onRequest` hooks that answer a request without a valid token, or without what else the route needs, and otherwise set
 * `request.auth`.
 *
 *     const { requireToken, requireScope } = bearerAuth(verify);
 *     app.get('/orders', { onRequest: requireScope('orders:read') }, (request) => ordersOf(request.auth!.sub));
 */
export function bearerAuth(verify: Verifier) {
  const guard = requestGuard<FastifyRequest>(verify, ({ raw, headers, method, originalUrl }) => ({
    authorization: authorizationOf({ headers: { authorization: headers.authorization }, rawHeaders: raw.rawHeaders }),
    dpop: { proof: headers.dpop, method, path: originalUrl },
  }));
  return middlewares<Hook>((required) => async (request, reply) => {
    try {
      request.auth = await guard(request, required);
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return reply.code(error.status).headers(error.headers).send(error.body);
    }
  });
}

/** A plugin with the route for the metadata of the API (RFC 9728): `app.register(protectedResource(verify))`. */
export function protectedResource(verify: Verifier) {
  const resource = resourceOf(verify);
  return async (app: FastifyInstance): Promise<void> => {
    app.route({
      method: ['GET', 'HEAD', 'OPTIONS'],
      url: resource.path,
      handler: async ({ method }, reply) => {
        const { status, headers, body } = answerMetadata(resource, method, resource.path)!;
        return reply.code(status).headers(headers).send(body);
      },
    });
  };
}
