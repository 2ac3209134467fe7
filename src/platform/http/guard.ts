import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { Config } from '../config.ts';
import { invalidRequest, RequestError, refusal } from '../errors.ts';
import { currentRequest } from './current-request.ts';
import { METHODS } from './node-http.ts';
import { fillPath } from './parameters.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** By the monotonic clock, where requests are observed. */
    arrivedAt: number;
    /** Under which the request is logged and traced; empty if it is neither. */
    requestId: string;
    /** The code of its refusal. */
    refusedAs: string | undefined;
  }
  interface FastifyContextConfig {
    /** For people, so its errors are pages. */
    page?: boolean;
    /** The page with the form that posts here, to return to after a sign-in. */
    form?: string;
    /** Fields of that form which its page had in its query, to return to the same page. */
    formQuery?: readonly string[];
    /** It changes nothing, so that it may be sent as often as one likes, and nothing of it is kept. */
    changesNothing?: boolean;
    /** No cookie authenticates here, or other sites post here on purpose: the cross-site guard does not apply. */
    anySite?: boolean;
    /** Asked every few seconds by a machine, which no trace should show. */
    isProbe?: boolean;
    /** Scripts of any origin may call it and read its answers, without credentials: browsers send no cookie. */
    cors?: boolean;
  }
}

/** Checks of every request before its route runs. */
export function guard(app: FastifyInstance, deps: { config: Config }): void {
  app.decorateRequest('signedInUser', undefined);
  const headers = answerHeaders(deps.config);
  app.addHook('onRequest', (request, reply, done) => {
    const current = currentRequest.getStore();
    if (current) current.requester = request;
    reply.headers(headers);
    const { cors, anySite } = request.routeOptions.config ?? {}; // read once: Fastify makes routeOptions anew
    if (cors) reply.headers(anyOriginHeaders);
    const malformed = malformation(request.raw, deps.config.baseUrl);
    if (malformed !== undefined) {
      reply.header('connection', 'close');
      throw invalidRequest(malformed);
    }
    if (request.url.length > 8192) {
      throw new RequestError('uri_too_long', 'The URL is longer than 8192 bytes.');
    }
    if (!cors && isSpeculative(request)) throw speculative();
    if (request.url.includes('%00')) throw invalidRequest('The URL contains a NUL character.');
    const coding = request.headers['content-encoding'] ?? 'identity';
    if (coding.toLowerCase() !== 'identity') {
      reply.header('accept-encoding', 'identity'); // RFC 9110 §12.5.3
      throw new RequestError(
        'unsupported_media_type',
        'Compressed bodies are not accepted. Send the body without Content-Encoding.',
      );
    }
    if (isWrite(request) && !request.is404 && !anySite) refuseCrossSiteWrite(request, deps.config.baseUrl);
    done();
  });
}

/** Loaded before its user has asked for it (Fetch §3.6, and the names before it). */
const isSpeculative = ({ headers }: FastifyRequest): boolean =>
  ['sec-purpose', 'purpose', 'x-moz', 'x-purpose'].some((name) =>
    /prefetch|prerender|preview/i.test(String(headers[name] ?? '')),
  );

/** Many a page here signs in or out, or uses up a link, when it is opened. A browser forgets this answer and asks again. */
const speculative = () =>
  new RequestError('temporarily_unavailable', 'This was requested in advance, so nothing was done. Open it to go on.', {
    retryAfter: 1,
    userMessage: { key: 'refusal.speculative' },
  });

/** The headers of every answer. A route whose answer may be cached replaces `cache-control`. */
export const answerHeaders = ({ secure }: Pick<Config, 'secure'>) => ({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  ...(secure && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
});

/** Fetch §3.2, for refusals too: a script could not tell them from a network failure. */
export const anyOriginHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'www-authenticate, retry-after, x-request-id, dpop-nonce',
};

/** What Node accepts and an intermediary could parse differently (RFC 9112 §3.2). An absolute URL must be one of ours. */
export function malformation(raw: IncomingMessage, baseUrl: string): string | undefined {
  const { url = '' } = raw;
  if (raw.httpVersionMajor < 1) return 'The request line does not contain an HTTP version.';
  if (!url.startsWith('/') && !url.startsWith(`${baseUrl}/`))
    return 'The request target is not a path on this service.';
  // RFC 9112 §6.1: "chunked" is the one coding that every intermediary parses alike.
  const coding = raw.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'The only supported Transfer-Encoding is chunked.';
  return hasTwoHosts(raw.rawHeaders) ? 'The header Host was sent more than once.' : undefined;
}

/** Node itself keeps the first of several Host headers. @param headers names and values in turn. */
function hasTwoHosts(headers: readonly string[]): boolean {
  let hosts = 0;
  for (let place = 0; place < headers.length; place += 2) {
    const name = headers[place]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/**
 * Browsers also send cookies with requests that other sites cause, so a write that a cookie authenticates must come from
 * our own pages (decisions §9; ASVS 3.5). A request with neither header does not come from a browser.
 */
function refuseCrossSiteWrite(request: FastifyRequest, baseUrl: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin === baseUrl) return;
  // "null" is also the origin of a foreign sandboxed frame (Fetch §3.2); the other header, which no page can set, is not.
  if ((origin === undefined || origin === 'null') && site === 'same-origin') return;
  if (origin === undefined && site === undefined) return;
  throw refusal('access_denied', { key: 'refusal.cross_site' }, { title: { key: 'error.blocked' } });
}

const isWrite = (request: FastifyRequest) => !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method);

/**
 * HEAD is answered wherever GET is (RFC 9110 §9.3.2), by the same route: Fastify would add another for each, a fifth of the time that it
 * takes to make all of them. Node sends the headers without the body. A route with `exposeHeadRoute: false` answers none.
 */
export function answerHead(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'GET' && route.exposeHeadRoute !== false) route.method = ['GET', 'HEAD'];
  });
}

/** CONNECT never becomes a request: Node closes the connection. */
const methods = METHODS.filter((method) => method !== 'CONNECT');

/**
 * A known path with another method is 405 with `Allow`, an unknown path is 404 (RFC 9110 §15.5.6). Call it after the
 * other hooks and before the routes are added.
 *
 * A second router has one entry for each path. It is built for the first such request, so that no start waits for it.
 * Routes for all other methods in Fastify's own, some 3 700, would take half of the time of a start.
 * @param longestParameter as the routes have it, so that both routers agree on what a path is.
 */
export function refuseOtherMethods(app: FastifyInstance, longestParameter: number): void {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const declared = new Map<string, Path>();
  let router: Router | undefined;
  function pathOf(url: string) {
    router ??= routerOf(declared, longestParameter);
    return router.find(anyMethod, url);
  }
  app.addHook('onRoute', (route) => {
    const { url, method, config } = route;
    const path = declared.get(url) ?? { methods: new Set(), form: undefined, cors: config?.cors };
    for (const one of [method].flat()) path.methods.add(one);
    if (config?.page) path.form ??= config.form ?? parentOf(url, declared);
    declared.set(url, path);
    if (config?.page && url.includes(':')) route.onRequest = [refuseHidden, route.onRequest ?? []].flat();
  });
  /** An address that takes a form alone, and that a page with a parameter there would take for its own. */
  function refuseHidden(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const exact = request.method === 'GET' ? declared.get(request.url.split('?', 1)[0]!) : undefined;
    if (exact === undefined || exact.methods.has('GET')) done();
    else refuseMethod({ store: exact, params: {} }, request, reply);
  }
  app.addHook('onRequest', (request, reply, done) => {
    const found = request.is404 ? pathOf(request.url) : null;
    return found === null ? done() : refuseMethod(found, request, reply);
  });
  function refuseMethod(found: Pick<Found, 'store' | 'params'>, request: FastifyRequest, reply: FastifyReply) {
    const { methods: known, form, cors } = found.store as Path;
    // A reload of the answer to a form, or a bookmark of it: redirect to the form.
    if (form !== undefined && request.method === 'GET' && request.headers.accept?.includes('text/html')) {
      return reply.redirect(fillPath(form, found.params), 303);
    }
    // WebKit's reload of such an answer after a script has given it the address of a page: it sends the form there.
    if (form !== undefined && known.has('GET') && isOfForm(request)) {
      return reply.redirect(request.url.split('?', 1)[0]!, 303);
    }
    const allow = methods.filter((method) => known.has(method)).join(', ');
    reply.header('allow', allow);
    if (cors) {
      reply.headers(anyOriginHeaders);
      if (isPreflight(request)) return preflight(request, reply, allow);
    }
    throw new RequestError('method_not_allowed', `Allowed methods: ${allow}.`);
  }
}

const isOfForm = ({ method, headers: { accept, 'content-type': type } }: FastifyRequest) =>
  method === 'POST' &&
  accept?.includes('text/html') === true &&
  type?.startsWith('application/x-www-form-urlencoded') === true;

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

/** Names of headers between commas, as browsers sort and send them (Fetch §4.8). */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(?:, ?[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Browsers ask once a day whether a script may send an access token or credentials of a client, and what tracing and libraries add to
 * each request. No header opens anything here that a program could not send as well, so all names are allowed.
 */
function preflight({ headers }: FastifyRequest, reply: FastifyReply, allow: string) {
  const { 'access-control-request-headers': asked = '' } = headers;
  const isList = asked.length <= 1024 && headerNames.test(asked);
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': allow,
      'access-control-allow-headers': isList ? asked : 'authorization, content-type',
      'access-control-max-age': '86400',
      vary: 'Access-Control-Request-Headers',
    })
    .send();
}

/** `form`: the page with the form that posts here, if the answer is for people. */
type Path = { methods: Set<string>; form: string | undefined; cors: boolean | undefined };

type Router = ReturnType<typeof routerOf>;
type Found = NonNullable<ReturnType<Router['find']>>;
const anyMethod = 'GET'; // the router requires one

function routerOf(declared: ReadonlyMap<string, Path>, maxParamLength: number) {
  const router = findMyWay({ maxParamLength });
  for (const [url, path] of declared) router.on(anyMethod, url, () => {}, path);
  return router;
}

/** The nearest page above, such as `/signin` of `/signin/passkey`. */
function parentOf(url: string, declared: ReadonlyMap<string, Path>): string {
  for (let above = url; above !== ''; above = above.slice(0, above.lastIndexOf('/'))) {
    if (above !== url && declared.get(above)?.methods.has('GET')) return above;
  }
  return '/account';
}
