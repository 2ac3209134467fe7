import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import type { Deps } from '../deps.ts';
import { notFound, RequestError } from '../errors.ts';
import { sendRefusal } from './errors.ts';

/** Every method that Node reads. CONNECT never becomes a request: Node closes the connection. */
const methods = METHODS.filter((method) => method !== 'CONNECT');

/**
 * A known path with another method is 405 with `Allow`, an unknown path is 404 (RFC 9110 §15.5.6). Call it after the
 * other hooks and before the routes are added.
 *
 * Paths are looked up in a second router with one entry for each. A route in Fastify's own for each path times the
 * thirty methods that it does not take is some 3 700 routes, half of what a start costs.
 * @param longestParameter as the routes have it, so that both routers agree on what a path is.
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  deps: Pick<Deps, 'config' | 'look' | 'clock'>,
  longestParameter: number,
): void {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const declared = new Map<string, Set<string>>();
  const paths = findMyWay({ maxParamLength: longestParameter });
  app.addHook('onRoute', ({ url, method }) => {
    const known = declared.get(url) ?? new Set();
    for (const one of [method].flat()) known.add(one);
    if (!declared.has(url)) paths.on(anyMethod, url, () => {}, known);
    declared.set(url, known);
  });
  // Before a body is read: what is wrong with it does not matter any more.
  app.addHook('onRequest', (request, reply, done) => {
    const known = request.is404 ? paths.find(anyMethod, request.url)?.store : undefined;
    if (known === undefined) return done();
    const allow = methods.filter((method) => (known as Set<string>).has(method)).join(', ');
    reply.header('allow', allow);
    throw new RequestError('method_not_allowed', `This address takes ${allow}.`);
  });
  app.setNotFoundHandler((request, reply) => sendRefusal(deps, request, reply, notFound()));
}

/** The second router knows paths alone; this is the method under which it keeps them. */
const anyMethod: HTTPMethod = 'GET';
