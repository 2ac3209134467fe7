import { errorCodes, type FastifyInstance } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { FormText } from './parameters.ts';

/**
 * JSON, and forms, which stay text until their route reads them. An empty body is none, whatever its content type
 * (RFC 9110 §6.4.1): many HTTP clients send one with every POST.
 */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) =>
    done(null, new FormText(text as string)),
  );
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') return done(null, undefined);
    // PostgreSQL stores no NUL in a text.
    if (/\\u0000|\0/.test(text as string)) return done(invalidRequest('The body contains a NUL character.'));
    return parseJson(request, text as string, (error, body) => {
      const problem = error ? undefined : problemIn(body);
      done(problem === undefined ? error : invalidRequest(problem), body);
    });
  });
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, text, done) =>
    text === '' || request.is404
      ? done(null, undefined)
      : done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(request.headers['content-type'])),
  );
}

/** None of our bodies has more than five levels; recursive code, also in libraries, would overflow the stack. */
const maxDepth = 32;

function problemIn(body: unknown): string | undefined {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `The body is nested more than ${maxDepth} levels deep.`;
    // Stored, each unpaired surrogate would become the same replacement character.
    if (level.some((value) => typeof value === 'string' && !value.isWellFormed())) {
      return 'The body contains an unpaired surrogate.';
    }
    level = level.flatMap((value) =>
      typeof value !== 'object' || value === null ? [] : Array.isArray(value) ? value : Object.entries(value).flat(),
    );
  }
  return undefined;
}
