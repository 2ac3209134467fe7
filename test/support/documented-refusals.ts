import assert from 'node:assert/strict';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../../src/platform/errors.ts';
import { refusalsOf } from '../../src/platform/openapi/document.ts';

/** What any route may answer, and no operation has to name; a request that no handler has seen is not ours to judge. */
const everywhere: readonly ErrorCode[] = ['server_error', 'temporarily_unavailable'];

type ErrorBody = { error: ErrorCode; error_description: string; fields?: unknown };

/**
 * Watches what the operations of the API refuse.
 * @returns a check, for the end of the test, that the description promises every code that was given.
 */
export function watchRefusals(app: FastifyInstance): () => void {
  const undocumented = new Set<string>();
  const routed = new WeakSet<FastifyRequest>();
  app.addHook('preValidation', (request, _reply, done) => {
    routed.add(request);
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { operation } = request.routeOptions.config;
    if (
      operation !== undefined &&
      routed.has(request) &&
      reply.statusCode >= 400 &&
      !(reply.statusCode in operation.answers) && // in a form of its own
      typeof payload === 'string' &&
      payload.startsWith('{')
    ) {
      const { error, error_description, fields } = JSON.parse(payload) as ErrorBody;
      const isUnreadable = error === 'invalid_request' && fields === undefined;
      const isKnown = isUnreadable || everywhere.includes(error) || refusalsOf(operation).has(error);
      if (!isKnown) undocumented.add(`${request.method} ${request.routeOptions.url}: ${error}, ${error_description}`);
    }
    done(null, payload);
  });
  return () => {
    assert.deepEqual([...undocumented], [], 'the API description does not list these; add them to the operation');
  };
}
