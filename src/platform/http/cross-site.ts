import type { FastifyRequest } from 'fastify';
import { refusal } from '../errors.ts';

/**
 * Cookies travel with requests that other sites make a browser send, so a write that a cookie authenticates must say
 * that it comes from our own pages (decisions §9; ASVS 3.5). A request with neither header does not come from a browser.
 */
export function refuseCrossSiteWrite(request: FastifyRequest, baseUrl: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin === baseUrl) return;
  // Our pages send no referrer, and then browsers write "null" for the origin of a form (Fetch §3.2). The other header,
  // which no page can set, tells our own form from a foreign sandboxed frame.
  if ((origin === undefined || origin === 'null') && site === 'same-origin') return;
  if (origin === undefined && site === undefined) return;
  throw refusal('access_denied', { key: 'refusal.cross_site' });
}

export const isWrite = (request: FastifyRequest) => !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(request.method);
