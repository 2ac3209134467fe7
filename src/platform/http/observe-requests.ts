import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import { newIdAt } from '../ids.ts';
import { isInSubnets, subnetList } from '../ip-address.ts';
import { counter, histogram, quickSeconds } from '../metrics.ts';
import { currentRequest } from './current-request.ts';

const requests = counter(
  'signet_http_requests_total',
  'Requests that were answered, by the pattern of the route; an address that does not exist has none.',
  'method',
  'route',
  'status',
);
const durations = histogram(
  'signet_http_request_duration_seconds',
  'From the headers of a request to its answer, by the pattern of the route.',
  quickSeconds,
  'route',
);

/** Anyone may send any other. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const methodOf = ({ method }: FastifyRequest, other = 'other') => (methods.has(method) ? method : other);

/**
 * Counts, times, logs and traces every request, where that is switched on. Before all other hooks, so that what they refuse is
 * among them. Only the pattern of a route leaves this file: an address may contain a secret.
 */
export function observeRequests(
  app: FastifyInstance,
  deps: Pick<Deps, 'config' | 'clock' | 'timekeeper' | 'log' | 'tracer'>,
): void {
  const { clock, timekeeper, log, tracer } = deps;
  const { hasMetrics, logRequests, trustProxy, baseUrl } = deps.config;
  const scheme = new URL(baseUrl).protocol.slice(0, -1); // not what the requester's header says
  const isProxy = trustedPeers(trustProxy);
  app.decorateRequest('requestId', '');
  app.decorateRequest('refusedAs', undefined);
  if (!hasMetrics && !logRequests && !tracer.isOn) return;
  app.decorateRequest('arrivedAt', 0);
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedAt = timekeeper.monotonic();
    const current = currentRequest.getStore();
    if (current && tracer.isOn && !request.routeOptions.config?.isProbe) {
      const { traceparent } = request.headers;
      const sent = typeof traceparent === 'string' ? traceparent : undefined;
      const attributes = { 'http.request.method': methodOf(request, '_OTHER'), 'url.scheme': scheme };
      current.span = tracer.startRequest(attributes, sent, isProxy(request.socket.remoteAddress));
    }
    const id = current?.span?.request_id ?? (logRequests ? newIdAt('req', clock()) : undefined);
    if (id !== undefined) {
      request.requestId = id;
      reply.header('x-request-id', id);
      if (current) current.id = id;
    }
    done();
  });
  // Not `onResponse`: Fastify would listen for the end of every answer.
  app.addHook('onSend', (request, reply, payload, done) => {
    const route = request.routeOptions.url ?? '';
    const method = methodOf(request);
    const status = reply.statusCode;
    // No hook ran before an address that the router cannot take apart was refused.
    const ms = request.arrivedAt ? timekeeper.monotonic() - request.arrivedAt : 0;
    if (hasMetrics) {
      requests.count(method, route, String(status));
      durations.observe(ms / 1000, route);
    }
    const trace_id = endSpan(request, status);
    if (logRequests) {
      const { requestId: id, refusedAs: error, ip: address } = request;
      log.info({ id, trace_id, method, route, status, error, ms: Math.round(ms * 100) / 100, address }, 'request');
    }
    done(null, payload);
  });
}

/** What runs in its course after the answer, such as a timer for mail, is no part of it. @returns the id of its trace. */
function endSpan(request: FastifyRequest, status: number): string | undefined {
  const current = currentRequest.getStore();
  if (current?.span === undefined) return undefined;
  const { span } = current;
  current.span = undefined;
  const route = request.routeOptions.url;
  const method = methodOf(request, 'HTTP'); // so the conventions for HTTP spans have it
  const outcome = {
    'http.route': route,
    'http.response.status_code': status,
    'signet.request_id': request.requestId || undefined,
    'signet.refused_as': request.refusedAs,
  };
  span.end(route === undefined ? method : `${method} ${route}`, outcome, status < 500 ? undefined : String(status));
  return span.trace_id;
}

/** @returns whether a connection is from one of our own proxies, by its address. */
function trustedPeers(trusted: Config['trustProxy']): (address: string | undefined) => boolean {
  if (!Array.isArray(trusted)) return () => trusted !== false && trusted > 0;
  const subnets = subnetList(trusted);
  return (address) => address !== undefined && isInSubnets(address, subnets);
}
