import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP, isIPv4, isIPv6, type Socket, Server as TcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyServerFactoryHandler } from 'fastify';
import type { Db, Part } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { invalidRequest, RequestError, serverError } from '../errors.ts';
import { counter } from '../metrics.ts';
import { pace } from '../pace.ts';
import { currentRequest } from './current-request.ts';
import { createServer, STATUS_CODES } from './node-http.ts';
import { hasBody, publishedDocuments } from './published.ts';
import { shareStore } from './store-shares.ts';

declare module 'fastify' {
  interface FastifyInstance {
    serving: Serving;
  }
}

const unreadable = counter(
  'signet_http_unreadable_total',
  'Connections that were closed because they sent no readable HTTP, or too slowly.',
);

type Serving = ReturnType<typeof openServing>;

/** The time for a whole request, of which one second is the interval at which Node checks. */
const requestMs = 15_000;
const checkEveryMs = 1_000;
/** A kept-alive connection that was silent for this long is unlikely to be used soon. */
const quietMs = 1_000;

/** An answer of which nothing is read for this long is given up, with its connection. */
const unreadMs = 60_000;

/** Requests without an answer that was sent whole, on one connection. Each takes 3 KB, read or not; no client sends more ahead. */
const maxUnanswered = 32;

/** The connections of one process, from the first that is accepted to the last that is closed. */
export function openServing({ config, db, log }: Pick<Deps, 'config' | 'db' | 'log'>) {
  const servers: Server[] = [];
  /** With the responses on each that are not sent yet, the newest last, which stays when it is. */
  const connections = new Map<Socket, ServerResponse[]>();
  let isDraining = false;
  let isStopping = false;
  let handle: FastifyServerFactoryHandler;
  const published = publishedDocuments(config);
  watchChanges(db);
  shareStore(db);

  function serve(request: IncomingMessage, response: ServerResponse): void {
    // Node keeps the address that was read once: `request.ip` is counted, logged and stored, maybe after the connection has ended.
    if (request.socket.destroyed || request.socket.remoteAddress === undefined) {
      request.socket.destroy();
      return;
    }
    const unanswered = connections.get(request.socket) ?? [];
    while (unanswered[0]?.writableFinished) unanswered.shift();
    if (unanswered.push(response) > maxUnanswered) {
      request.socket.destroy();
      return;
    }
    connections.set(request.socket, unanswered);
    pace.requestArrived();
    // Fastify would wait for the end of a body that never begins.
    if (request.headers['content-type'] !== undefined && !hasBody(request)) delete request.headers['content-type'];
    if (isDraining) response.shouldKeepAlive = false;
    if (published.answer(request, response)) return;
    if (config.trustProxy !== false) {
      // Before anything reads `request.ip`, which is counted, logged and stored.
      request.headers['x-forwarded-for'] = readableForwardedFor(String(request.headers['x-forwarded-for'] ?? ''));
    }
    currentRequest.run({ response, id: '', hasChanged: false }, handleSafely, request, response);
  }

  function handleSafely(request: IncomingMessage, response: ServerResponse): void {
    try {
      db.requestArrived();
      handle(request, response);
    } catch (error) {
      log.error({ err: error }, 'failed outside of a route');
      endFailedRequest();
    }
  }

  /**
   * Bytes that Node cannot read as one HTTP request, or that come too slowly. Two readers of such bytes could see
   * different requests in them (RFC 9112 §11.2), so it is one answer and the end of the connection. Nothing is logged:
   * the error carries the raw packet, and that may carry a password.
   */
  function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
    unreadable.count();
    const last = connections.get(socket)?.at(-1);
    if (last !== undefined && !last.writableFinished && last.req.complete) {
      // The requests before are answered first, and with the last of these answers the connection ends.
      if (last.writableEnded) last.once('finish', () => socket.destroySoon());
      else last.shouldKeepAlive = false;
      return;
    }
    // What is wrong with the body of a request that has been answered already gets no second answer: the client would take
    // it for the answer to its next request (RFC 9112 §9.3).
    const isAnswered = last !== undefined && !last.req.complete && last.headersSent;
    if (socket.writable && error.code !== 'ECONNRESET' && !isAnswered) {
      const { status, headers, body } = bareAnswer(refusalOf(error));
      const head = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${body}`);
    }
    socket.destroySoon();
  }

  function makeServer(): Server {
    const headersTimeout = config.limits.headerSeconds * 1000;
    const requestTimeout = Math.max(requestMs - checkEveryMs, headersTimeout);
    const options = {
      headersTimeout,
      requestTimeout,
      connectionsCheckingInterval: checkEveryMs,
      optimizeEmptyRequests: true, // without a body, a request is not read as a stream
    };
    const server = createServer(options, serve);
    server.keepAliveTimeout = 72_000; // longer than what load balancers keep theirs for, so that they end it first
    server.timeout = unreadMs;
    server.maxConnections = config.limits.connections;
    server.on('connection', (socket: Socket) => {
      connections.set(socket, []);
      socket.once('close', () => connections.delete(socket));
    });
    servers.push(server);
    return server;
  }

  async function drain(delayMs: number): Promise<void> {
    isDraining = true;
    // Of requests that were sent without waiting for the answers before, the last one closes the connection.
    for (const responses of connections.values()) for (const response of responses) response.shouldKeepAlive = false;
    await sleep(delayMs);
    // The `close` of http.Server would also destroy kept-alive connections, and a request on its way to us.
    for (const server of servers) if (server.listening) TcpServer.prototype.close.call(server);
    await Promise.race([sleep(Math.max(quietMs - delayMs, 0)), until(() => connections.size === 0)]);
    for (const server of servers) server.closeIdleConnections(); // silent since the drain began, or they were closed
    await until(() => connections.values().every((responses) => responses.every(({ destroyed }) => destroyed)));
    for (const server of servers) server.closeAllConnections();
  }

  return {
    answerUnreadable,
    /** A route for a document that everyone reads. */
    publish: published.publish,

    /** True from the moment when the service was asked to stop. */
    get isStopping() {
      return isStopping;
    },

    /** For Fastify. */
    createServer(handler: FastifyServerFactoryHandler): Server {
      handle = handler;
      return makeServer();
    },

    /** Listens on every address of the host: a browser may take `localhost` for either family. */
    async listen(app: FastifyInstance): Promise<void> {
      const { host, port } = config;
      await app.listen({ host, port });
      const bound = app.addresses().map((bound) => (typeof bound === 'string' ? bound : bound.address));
      for (const { address } of host === 'localhost' ? await lookup(host, { all: true }) : []) {
        if (bound.includes(address)) continue;
        const server = makeServer().on('clientError', answerUnreadable);
        server.listen({ host: address, port });
        await once(server, 'listening').catch(() => servers.splice(servers.indexOf(server), 1)); // no such family here
      }
      log.info({ addresses: servers.map((server) => server.address()) }, 'listening');
    },

    /**
     * Closes every connection without failing a request: from now on each answer ends its connection. Resolves when no
     * request is in progress.
     * @param delayMs how long the listener stays open, so that a load balancer can see `/readyz` fail first.
     */
    stop(delayMs: number): Promise<void> {
      isStopping = true;
      return drain(delayMs);
    },

    /** The same for a process that another one has replaced: the service continues, and is ready. */
    retire: () => drain(0),
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(10);
}

/**
 * `X-Forwarded-For` as far as it can be believed, nearest proxy last. Some proxies write `192.0.2.1:4711` or
 * `[2001:db8::1]:4711`, and a port counted as part of the address would give each connection limits of its own. What is
 * no address ends the list: the entries before it were passed on by something unknown.
 * @returns addresses without ports and zones, separated by commas; undefined if none is left.
 */
export function readableForwardedFor(header: string): string | undefined {
  const addresses: string[] = [];
  for (const entry of header.split(',').reverse()) {
    const address = addressIn(entry.trim());
    if (address === undefined) break;
    addresses.unshift(address);
  }
  return addresses.length === 0 ? undefined : addresses.join(', ');
}

function addressIn(entry: string): string | undefined {
  if (entry.length > 64) return undefined; // an IPv4 address written as IPv6 in full, with brackets and a port, is shorter
  const [, inBrackets] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry) ?? [];
  if (inBrackets !== undefined) return isIPv6(inBrackets) ? withoutZone(inBrackets) : undefined;
  const [, beforePort] = /^([\d.]+):\d{1,5}$/.exec(entry) ?? [];
  if (beforePort !== undefined) return isIPv4(beforePort) ? beforePort : undefined;
  return isIP(entry) === 0 ? undefined : withoutZone(entry);
}

/** A zone names a network interface of the sender, and may be any text (RFC 4007 §11). */
const withoutZone = (address: string) => address.split('%', 1)[0];

function refusalOf({ code }: { code?: string }): RequestError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new RequestError('headers_too_large', 'The headers are larger than 16 KB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new RequestError('request_timeout', 'The request was received too slowly.');
  return invalidRequest('The request is not valid HTTP.');
}

/** A refusal that Fastify does not send. */
function bareAnswer({ status, code, message }: RequestError) {
  const body = JSON.stringify({ error: code, error_description: message });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  return { status, headers, body };
}

/** Whether the request in whose course this runs has changed something, so that its refusal must not say otherwise. */
export const hasChangedSomething = (): boolean => currentRequest.getStore()?.hasChanged === true;

/** From now on, {@link hasChangedSomething} knows of the changes of this store. */
function watchChanges(db: Db): void {
  for (const part of db.parts) watchPart(part);
}

function watchPart(db: Part): void {
  const { commit } = db;
  db.commit = async (steps) => {
    const committed = await commit(steps);
    const request = currentRequest.getStore();
    if (request === undefined || 'refusedAt' in committed) return committed;
    const isChange = committed.results.some(({ changes }, index) => {
      const { isRequirement, isIncidental } = steps[index]!;
      return changes > 0 && !isRequirement && !isIncidental;
    });
    request.hasChanged ||= isChange;
    return committed;
  };
}

/**
 * For an exception that no promise of a request has caught: answers that request with a bare 500, or cuts off the answer
 * that has begun, since half of one must not look like a whole one.
 * @returns false outside of a request in progress.
 */
export function endFailedRequest(): boolean {
  const { response, span } = currentRequest.getStore() ?? {};
  span?.end('request', { 'http.response.status_code': 500 }, 'exception');
  if (response === undefined || response.writableEnded || response.destroyed) return false;
  if (response.headersSent) {
    response.destroy();
    return true;
  }
  const { status, headers, body } = bareAnswer(serverError());
  response.writeHead(status, { ...headers, Connection: 'close' }).end(body);
  return true;
}
