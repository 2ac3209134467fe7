import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { invalidToken } from '../platform/errors.ts';
import { digest } from '../platform/ids.ts';
import { metricsType } from '../platform/metrics.ts';
import type { Config } from './config.ts';
import type { Scrape } from './metrics.ts';

/** On the main port, for scrapers that know the token; without one there is no such address. */
export async function metricsRoutes(app: FastifyInstance, { metricsToken }: Config, scrape: Scrape) {
  if (metricsToken === undefined) return;
  const expected = Buffer.from(digest(metricsToken));
  app.get('/metrics', { config: { isProbe: true } }, async (request, reply) => {
    const [, presented = ''] = /^Bearer ([^ ]{1,200})$/i.exec(request.headers.authorization ?? '') ?? [];
    // Digests, which have one length, so that the time reveals nothing.
    if (!timingSafeEqual(Buffer.from(digest(presented)), expected)) throw invalidToken('not the token for metrics');
    return reply.type(metricsType).send(await scrape());
  });
}
