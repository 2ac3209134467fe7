import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { answerHeaders, anyOriginHeaders, malformation } from './guard.ts';
import type { OperationDescription } from './operation.ts';
import {
  type PublicDocument,
  publicHeaders,
  type Representation,
  representationFor,
  sendPublicDocument,
} from './representations.ts';

/**
 * Documents that every relying party fetches and that are the same for all of them. They are routes like others. But hooks and
 * router take longer than such an answer, so an ordinary request for one is answered before them, with the same bytes. Any
 * other is left to the route, and so are all where requests are counted, logged or traced.
 */
export function publishedDocuments(
  config: Pick<Config, 'baseUrl' | 'secure' | 'hasMetrics' | 'logRequests' | 'traces'>,
) {
  const documents = new Map<string, () => PublicDocument>();
  /** Names and values in turn, as `writeHead` takes them fastest. */
  const headers = new WeakMap<Representation, string[]>();
  const ofAll = { ...answerHeaders(config), ...anyOriginHeaders, ...publicHeaders };

  function headersOf({ body, etag, coding }: Representation, varies: boolean): string[] {
    const all = {
      ...ofAll,
      ...(varies && { vary: 'accept-encoding' }),
      etag,
      ...(coding && { 'content-encoding': coding }),
      'content-length': String(Buffer.byteLength(body)),
    };
    return Object.entries(all).flat();
  }

  return {
    /** @param current the document as it is now: the same object until it changes. */
    publish(app: FastifyInstance, path: string, operation: OperationDescription, current: () => PublicDocument): void {
      app.get(path, { config: { operation, cors: true } }, async (request, reply) =>
        sendPublicDocument(request, reply, current()),
      );
      if (!config.hasMetrics && !config.logRequests && !config.traces) documents.set(path, current);
    },

    /** @returns false for what is left to the routes. */
    answer(request: IncomingMessage, response: ServerResponse): boolean {
      const forms = documents.get(request.url!)?.().forms;
      if (forms?.ready === undefined || request.method !== 'GET') return false;
      if (request.headers['if-none-match'] !== undefined || hasBody(request)) return false;
      if (malformation(request, config.baseUrl) !== undefined) return false;
      const chosen = representationFor(request.headers, forms.plain, forms.ready);
      const known = headers.get(chosen) ?? headersOf(chosen, forms.ready.length > 0);
      headers.set(chosen, known);
      response.writeHead(200, known).end(chosen.body);
      return true;
    },
  };
}

/** One that may be empty (RFC 9112 §6.3). */
export const hasBody = ({ headers }: IncomingMessage) =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
