import { errorCodes, type FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { invalidFields, invalidRequest } from '../errors.ts';
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

/** @throws {RequestError} `invalid_request` unless nothing, or `{}`, was sent. */
export function readNoBody(body: unknown): void {
  if (body === undefined || (body instanceof FormText && body.text === '')) return;
  const isEmpty =
    typeof body === 'object' &&
    body !== null &&
    !(body instanceof FormText) &&
    !Array.isArray(body) &&
    Object.keys(body).length === 0;
  if (!isEmpty) throw invalidRequest('This endpoint does not accept a body. Nothing was changed.');
}

/**
 * A reader of JSON bodies; it throws `invalid_request` with every problem. The schema should have
 * `additionalProperties: false`, so that no member is silently ignored.
 */
export function jsonBody<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const shape = Compile(schema);
  return (body) => {
    if (!shape.Check(body)) throw invalidFields(shapeProblems(shape.Errors(body)));
    return body as Static<Schema>;
  };
}

/** `path` is a JSON pointer without its first slash, empty for the whole body. */
type Problem = { path: string; message: string };
export type ShapeError = TLocalizedValidationError;

/**
 * TypeBox's errors, in our words where its own would repeat what was sent, or not help. It stops at eight, which keeps the
 * answer to a hostile body short; there is always at least one.
 */
export function shapeProblems(errors: readonly ShapeError[]): Problem[] {
  const nullables = new Set(errors.filter(isNullBranch).map(unionOf));
  const specific = errors.filter((error) => error.keyword !== 'anyOf' && !isNullBranch(error));
  const problems = (specific.length > 0 ? specific : errors).flatMap((error) =>
    problemsOf(error).map((problem) =>
      error.keyword === 'type' && nullables.has(unionOf(error)) ? orNull(problem) : problem,
    ),
  );
  return [...new Map(problems.map((one) => [JSON.stringify([one.path, one.message]), one])).values()];
}

/** Of a nullable value that is not null: the error of its other branch explains more. */
const isNullBranch = (error: ShapeError) =>
  error.keyword === 'type' && error.params.type === 'null' && unionOf(error) !== undefined;

/** The union that a branch belongs to, where the error is the branch's own and not one of its members'. */
const unionOf = ({ schemaPath }: ShapeError) => /^(.*\/anyOf)\/\d+$/.exec(schemaPath)?.[1];

const orNull = ({ path, message }: Problem): Problem => ({ path, message: message.replace(/\.$/, ' or null.') });

function problemsOf(error: ShapeError): Problem[] {
  const path = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'boolean': // for each unknown member, with the name that was sent in its path
    case 'additionalProperties': // once, after them
      return [{ path: '', message: 'Contains an unknown member. Only the documented members can be set.' }];
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: name, message: 'Is required.' }));
    case 'enum':
      return [{ path, message: `Must be one of: ${error.params.allowedValues.join(', ')}.` }];
    default:
      return [{ path, message: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` }];
  }
}
