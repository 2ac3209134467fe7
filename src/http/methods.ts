import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { notFound, RequestError } from '../errors.ts';
import { sendRefusal } from './errors.ts';

/** Every method that Node reads. CONNECT never becomes a request: Node closes the connection. */
const methods = METHODS.filter((method) => method !== 'CONNECT');

/**
 * A known path with another method is 405 with `Allow`, an unknown path is 404 (RFC 9110 §15.5.6). Call it before the
 * routes are added, and what it returns after the last one.
 */
export function refuseOtherMethods(app: FastifyInstance, deps: Pick<Deps, 'config' | 'look' | 'clock'>): () => void {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const declared = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = declared.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    declared.set(url, known);
  });
  app.setNotFoundHandler((request, reply) => sendRefusal(deps, request, reply, notFound()));

  return () => {
    for (const [url, known] of [...declared]) {
      const allow = methods.filter((method) => known.has(method)).join(', ');
      app.route({
        url,
        method: methods.filter((method) => !known.has(method)),
        config: { anySite: true },
        // Before a body is read: what is wrong with it does not matter any more.
        onRequest: async (_request, reply) => {
          reply.header('allow', allow);
          throw new RequestError('method_not_allowed', `This address takes ${allow}.`);
        },
        handler: async () => {},
      });
    }
  };
}
