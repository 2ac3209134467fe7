import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay, { type HTTPMethod } from 'find-my-way';
import type { Config } from '../config.ts';
import { invalidRequest, RequestError, refusal } from '../errors.ts';
import { fillPath } from './parameters.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A person looks at the answer, so its errors are pages. */
    page?: boolean;
    /** The page with the form that posts here; somebody who must sign in first is brought back to it. */
    form?: string;
    /** No cookie authenticates here, or other sites post here on purpose: the cross-site guard stands aside. */
    anySite?: boolean;
  }
}

const longestUrl = 8192;

/** What holds for every request before its route sees it. */
export function guard(app: FastifyInstance, deps: { config: Config }): void {
  app.decorateRequest('signedInUser', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    guardAnswer(reply, deps.config);
    const malformed = malformation(request, deps.config.baseUrl);
    if (malformed !== undefined) {
      reply.header('connection', 'close');
      throw invalidRequest(malformed);
    }
    if (request.url.length > longestUrl) {
      throw new RequestError('uri_too_long', 'The URL is longer than 8192 bytes.');
    }
    if (request.url.includes('%00')) throw invalidRequest('The URL contains a NUL character.');
    // What has no route changes nothing, whoever sends it.
    const isOpen = request.is404 || request.routeOptions.config?.anySite;
    if (isWrite(request) && !isOpen) refuseCrossSiteWrite(request, deps.config.baseUrl);
    done();
  });
}

/** The headers of every answer. A route whose answer may be kept replaces `cache-control`. */
export function guardAnswer(reply: FastifyReply, { secure }: Pick<Config, 'secure'>): void {
  reply.header('cache-control', 'no-store');
  reply.header('x-content-type-options', 'nosniff');
  if (secure) reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains');
}

/**
 * What Node lets pass and another server on the way could read as a request for somebody else (RFC 9112 §3.2). We are
 * nobody's proxy, so an absolute URL must be one of ours.
 */
function malformation({ raw, url }: FastifyRequest, baseUrl: string): string | undefined {
  if (raw.httpVersionMajor < 1) return 'The request line does not contain an HTTP version.';
  if (!url.startsWith('/') && !url.startsWith(`${baseUrl}/`))
    return 'The request target is not a path on this service.';
  // RFC 9112 §6.1: "chunked" is the one coding that every server on the way reads alike.
  const coding = raw.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'The only supported Transfer-Encoding is chunked.';
  return hasTwoHosts(raw.rawHeaders) ? 'The header Host was sent more than once.' : undefined;
}

/** @param headers names and values in turn, as they came; Node itself keeps the first of several Host headers. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0;
  for (let place = 0; place < headers.length; place += 2) {
    const name = headers[place]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/**
 * Cookies travel with requests that other sites make a browser send, so a write that a cookie authenticates must say
 * that it comes from our own pages (decisions §9; ASVS 3.5). A request with neither header does not come from a browser.
 */
function refuseCrossSiteWrite(request: FastifyRequest, baseUrl: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin === baseUrl) return;
  // Our pages send no referrer, and then browsers write "null" for the origin of a form (Fetch §3.2). The other header,
  // which no page can set, tells our own form from a foreign sandboxed frame.
  if ((origin === undefined || origin === 'null') && site === 'same-origin') return;
  if (origin === undefined && site === undefined) return;
  throw refusal('access_denied', { key: 'refusal.cross_site' });
}

const isWrite = (request: FastifyRequest) => !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method);

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
