import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { counter, histogram, quickSeconds } from '../metrics.ts';

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
const methodOf = ({ method }: FastifyRequest) => (methods.has(method) ? method : 'other');

/**
 * Counts, times and logs every request, where that is switched on. Before all other hooks, so that what they refuse is among
 * them. Only the pattern of a route leaves this file: an address may contain a secret.
 */
export function observeRequests(app: FastifyInstance, deps: Pick<Deps, 'config' | 'timekeeper' | 'log'>): void {
  const { timekeeper, log } = deps;
  const { hasMetrics, logRequests } = deps.config;
  app.decorateRequest('requestId', '');
  app.decorateRequest('refusedAs', undefined);
  if (!hasMetrics && !logRequests) return;
  app.decorateRequest('arrivedAt', 0);
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedAt = timekeeper.monotonic();
    if (logRequests) {
      request.requestId = newId('req');
      reply.header('x-request-id', request.requestId);
    }
    done();
  });
  // Not `onResponse`: Fastify would listen for the end of every answer.
  app.addHook('onSend', (request, reply, payload, done) => {
    const route = request.routeOptions.url ?? '';
    const method = methodOf(request);
    // No hook ran before an address that the router cannot take apart was refused.
    const ms = request.arrivedAt ? timekeeper.monotonic() - request.arrivedAt : 0;
    if (hasMetrics) {
      requests.count(method, route, String(reply.statusCode));
      durations.observe(ms / 1000, route);
    }
    if (logRequests) {
      const { requestId: id, refusedAs: error, ip: address } = request;
      log.info(
        { id, method, route, status: reply.statusCode, error, ms: Math.round(ms * 100) / 100, address },
        'request',
      );
    }
    done(null, payload);
  });
}
