import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { invalidRequest, RequestError } from '../errors.ts';
import { isWrite, refuseCrossSiteWrite } from './cross-site.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A person looks at the answer, so its errors are pages. */
    page?: boolean;
    /** No cookie authenticates here, or other sites post here on purpose: the cross-site guard stands aside. */
    anySite?: boolean;
  }
}

const longestUrl = 8192;

/** What holds for every request before its route sees it. */
export function guard(app: FastifyInstance, deps: Pick<Deps, 'config'>): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (deps.config.secure) reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains');
    if (request.url.length > longestUrl) {
      throw new RequestError('uri_too_long', 'The URL is longer than 8192 bytes.');
    }
    if (request.url.includes('%00')) throw invalidRequest('The URL contains a NUL character.');
    if (isWrite(request) && !request.routeOptions.config?.anySite) refuseCrossSiteWrite(request, deps.config.baseUrl);
  });
}
