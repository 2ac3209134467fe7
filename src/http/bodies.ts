import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { FormText } from './parameters.ts';

/** The two kinds of body there are. A form stays text until its route reads it, and no other kind is accepted. */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) =>
    done(null, new FormText(text as string)),
  );
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    // PostgreSQL keeps no NUL in a text, and no field of ours has a use for one.
    if (/\\u0000|\0/.test(text as string)) return done(invalidRequest('The body contains a NUL character.'));
    return parseJson(request, text as string, done);
  });
}
