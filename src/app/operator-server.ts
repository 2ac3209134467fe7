import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Deps } from '../oauth/deps.ts';
import { ConfigError } from '../platform/errors.ts';
import { createServer } from '../platform/http/node-http.ts';
import { metricsType } from '../platform/metrics.ts';
import { type Health, openHealth } from './health.ts';
import { readyBody, unready } from './health-routes.ts';
import { openMetrics, type Scrape } from './metrics.ts';

/** Of the first process, which is the only one unless there are workers. */
export type Stage = { is: 'starting' | 'serving' | 'stopping' };

type Answer = { status: number; type?: string; body: string; headers?: Record<string, string> };

const json = (status: number, body: object, headers?: Record<string, string>): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
  headers,
});

/** For probes and scrapers, of which there are few. */
const maxConnections = 64;
const requestMs = 5000;

/**
 * Health and metrics on a port of its own, which need not be reachable from where users are. It answers while the service starts and
 * stops, too.
 * @throws {ConfigError} when it cannot listen there.
 */
export async function openOperatorServer(
  deps: Deps,
  stage: Stage,
  scrape: Scrape = openMetrics(deps),
): Promise<{ close(): void }> {
  const { operatorPort: port, operatorHost: host } = deps.config;
  const readHealth = openHealth(deps);
  const pages: Readonly<Record<string, () => Promise<Answer>>> = {
    '/livez': async () => json(200, { status: 'live' }),
    '/readyz': async () => {
      const health: Health = stage.is === 'serving' ? await readHealth() : { reasons: [stage.is], warnings: [] };
      const refusal = unready(health);
      if (!refusal) return json(200, readyBody(health));
      const { status, code, message, details, retryAfter } = refusal;
      return json(status, { error: code, error_description: message, ...details }, { 'Retry-After': `${retryAfter}` });
    },
    '/metrics': async () => ({ status: 200, type: metricsType, body: await scrape() }),
  };

  async function answer({ method, url = '' }: IncomingMessage): Promise<Answer> {
    const page = Object.hasOwn(pages, url) ? pages[url] : undefined;
    if (!page) return json(404, { error: 'not_found', error_description: `Known: ${Object.keys(pages).join(', ')}.` });
    if (method === 'GET' || method === 'HEAD') return page();
    const refusal = { error: 'method_not_allowed', error_description: 'Allowed methods: GET, HEAD.' };
    return json(405, refusal, { Allow: 'GET, HEAD' });
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, type, body, headers } = await answer(request).catch((error: unknown) => {
      deps.log.error({ err: error }, 'the operator port could not answer');
      return json(500, { error: 'server_error', error_description: 'See the log of the server.' });
    });
    const length = Buffer.byteLength(body);
    response.writeHead(status, {
      'Content-Type': type,
      'Content-Length': length,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
    });
    response.end(body);
  }

  const server = createServer(
    { headersTimeout: requestMs, requestTimeout: requestMs, keepAliveTimeout: requestMs },
    (request, response) => void respond(request, response),
  );
  server.maxConnections = maxConnections;
  server.listen({ host, port });
  await once(server, 'listening').catch(({ code }: NodeJS.ErrnoException) => {
    throw new ConfigError(
      `SIGNET_OPERATOR_PORT: cannot listen on port ${port} of ${host} (${code}). Is it in use by another server?`,
    );
  });
  deps.log.info({ address: server.address() }, 'listening for operators');
  return {
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
