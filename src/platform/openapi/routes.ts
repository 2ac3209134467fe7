import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tags } from '../http/operation-description.ts';
import { publicDocument, sendPublicDocument } from '../http/public-document.ts';
import { type Page, sendPage } from '../pages/page.ts';
import type { View, ViewDeps } from '../pages/view.ts';
import { type ApiDocument, type DescribedRoute, describeApi } from './document.ts';
import { referenceIndex, referencePage, referencePath } from './reference-page.ts';

/** The description of everything that a program may call, from the schemas that the routes check with. */
export async function openApiRoutes(app: FastifyInstance, deps: ViewDeps, described: DescribedRoute[]) {
  let api: ApiDocument | undefined;
  const describe = () => {
    api ??= describeApi(deps.config, described);
    return api;
  };
  let document: ReturnType<typeof publicDocument> | undefined;
  app.get('/openapi.json', async (request, reply) => {
    document ??= publicDocument(describe());
    return sendPublicDocument(request, reply, document);
  });

  const pages = new Map<string, Page>(); // anybody may ask, and it is the same for all
  const send = (request: FastifyRequest, reply: FastifyReply, draw: (view: View) => Page, name: string) => {
    const view = request.view;
    const key = `${view.locale} ${name}`;
    const page = pages.get(key) ?? draw(view);
    pages.set(key, page);
    return sendPage(reply, view, page);
  };
  const config = { page: true };
  app.get('/reference', { config }, async (request, reply) =>
    send(request, reply, (view) => referenceIndex(view, deps.config, describe()), ''),
  );
  for (const tag of tags) {
    app.get(referencePath(tag), { config }, async (request, reply) =>
      send(request, reply, (view) => referencePage(view, deps.config, describe(), tag), tag),
    );
  }
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
