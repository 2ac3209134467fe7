import type { FastifyInstance } from 'fastify';
import { version } from '../config.ts';
import type { Deps } from '../deps.ts';
import { publicDocument, sendPublicDocument } from '../http/public-document.ts';
import { type DescribedRoute, describeApi } from './document.ts';

/** The description of everything that a program may call, from the schemas that the routes check with. */
export async function openApiRoutes(app: FastifyInstance, deps: Pick<Deps, 'config'>, described: DescribedRoute[]) {
  let document: ReturnType<typeof publicDocument> | undefined;
  app.get('/openapi.json', async (request, reply) => {
    document ??= publicDocument(describeApi(deps.config, version, described));
    return sendPublicDocument(request, reply, document);
  });
}

/** Collects the routes that are added after it and describe themselves. */
export function collectOperations(app: FastifyInstance): DescribedRoute[] {
  const described: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const operation = config?.operation;
    if (!operation) return;
    for (const one of [method].flat())
      if (one !== 'HEAD') described.push({ method: one.toLowerCase(), url, operation });
  });
  return described;
}
