import { METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import { RequestError } from '../errors.ts';
import { fillPath } from './parameters.ts';

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
export function refuseOtherMethods(app: FastifyInstance, longestParameter: number): void {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const declared = new Map<string, Path>();
  const paths = findMyWay({ maxParamLength: longestParameter });
  app.addHook('onRoute', ({ url, method, config }) => {
    const path = declared.get(url) ?? { methods: new Set(), form: undefined };
    for (const one of [method].flat()) path.methods.add(one);
    if (config?.page) path.form ??= config.form ?? parentOf(url, declared);
    if (!declared.has(url)) paths.on(anyMethod, url, () => {}, path);
    declared.set(url, path);
  });
  // Before a body is read: what is wrong with it does not matter any more.
  app.addHook('onRequest', (request, reply, done) => {
    const found = request.is404 ? paths.find(anyMethod, request.url) : null;
    if (found === null) return done();
    const { methods: known, form } = found.store as Path;
    // Somebody who reloads what a form has answered, or has kept its address: the form is what they look for.
    if (form !== undefined && request.method === 'GET' && request.headers.accept?.includes('text/html')) {
      return reply.redirect(fillPath(form, found.params), 303);
    }
    const allow = methods.filter((method) => known.has(method)).join(', ');
    reply.header('allow', allow);
    throw new RequestError('method_not_allowed', `Allowed methods: ${allow}.`);
  });
}

/** The second router knows paths alone; this is the method under which it keeps them. */
const anyMethod: HTTPMethod = 'GET';

/** `form`: the page with the form that posts here, if people look at the answer. */
type Path = { methods: Set<string>; form: string | undefined };

/** The nearest page above, such as `/signin` of `/signin/passkey`. */
function parentOf(url: string, declared: ReadonlyMap<string, Path>): string {
  for (let above = url; above !== ''; above = above.slice(0, above.lastIndexOf('/'))) {
    if (above !== url && declared.get(above)?.methods.has('GET')) return above;
  }
  return '/account';
}
