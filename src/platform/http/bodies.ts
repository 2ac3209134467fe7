import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { invalidFields, invalidRequest } from '../errors.ts';
import { FormText } from './parameters.ts';

/**
 * The two kinds of body there are. A form stays text until its route reads it, and no other kind is accepted. Nothing is
 * no body, whatever kind it says it is (RFC 9110 §6.4.1): many HTTP clients send a content type with every POST.
 */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) =>
    done(null, new FormText(text as string)),
  );
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') return done(null, undefined);
    // PostgreSQL keeps no NUL in a text, and no field of ours has a use for one.
    if (/\\u0000|\0/.test(text as string)) return done(invalidRequest('The body contains a NUL character.'));
    return parseJson(request, text as string, (error, body) => {
      const problem = error ? undefined : problemIn(body);
      done(problem === undefined ? error : invalidRequest(problem), body);
    });
  });
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, text, done) =>
    text === '' || request.is404 ? done(null, undefined) : done(new UnknownMediaType()),
  );
}

/** As Fastify refuses a body that nobody reads. */
class UnknownMediaType extends Error {
  readonly code = 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
  readonly statusCode = 415;
}

/** None of our bodies has more than five levels; recursive readers, the libraries' among them, run out of stack. */
const deepest = 32;

/** Level by level, without recursion. */
function problemIn(body: unknown): string | undefined {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) return `The body is nested more than ${deepest} levels deep.`;
    // Stored, each unpaired surrogate becomes the same replacement character, and two different texts one.
    if (level.some((value) => typeof value === 'string' && !value.isWellFormed())) {
      return 'The body contains an unpaired surrogate.';
    }
    level = level.flatMap((value) =>
      typeof value !== 'object' || value === null ? [] : Array.isArray(value) ? value : Object.entries(value).flat(),
    );
  }
  return undefined;
}

/** For what says everything by its address. @throws {RequestError} `invalid_request` unless nothing, or `{}`, was sent. */
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
 * A reader of JSON bodies of that shape; the schema also describes the body in OpenAPI. Say `additionalProperties: false`
 * in it: whoever sends another member believes that it did something.
 * @returns a function that throws `invalid_request` with every problem.
 */
export function jsonBody<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const shape = Compile(schema);
  return (body) => {
    if (!shape.Check(body)) throw invalidFields(shapeProblems(shape.Errors(body)));
    return body as Static<Schema>;
  };
}

/** What is wrong with one field; `path` is a JSON pointer without its first slash, empty for the whole body. */
type Problem = { path: string; message: string };
export type ShapeError = TLocalizedValidationError;

/**
 * What TypeBox found, in our words where its own would repeat what was sent, or help nobody. It stops at eight, which
 * keeps the answer to a hostile body short; there is always at least one.
 */
export function shapeProblems(errors: readonly ShapeError[]): Problem[] {
  const nullables = new Set(errors.filter(isNullBranch).map(unionOf));
  const telling = errors.filter((error) => error.keyword !== 'anyOf' && !isNullBranch(error));
  const problems = (telling.length > 0 ? telling : errors).flatMap((error) =>
    problemsOf(error).map((problem) =>
      error.keyword === 'type' && nullables.has(unionOf(error)) ? orNull(problem) : problem,
    ),
  );
  const isFirst = ({ path, message }: Problem, place: number) =>
    problems.findIndex((other) => other.path === path && other.message === message) === place;
  return problems.filter(isFirst);
}

/** Of what may be null and is something else: its other branch says what is wrong with that. */
const isNullBranch = (error: ShapeError) =>
  error.keyword === 'type' && error.params.type === 'null' && unionOf(error) !== undefined;

/** The union that a branch belongs to, where the error is the branch's own and not one of its members'. */
const unionOf = ({ schemaPath }: ShapeError) => /^(.*\/anyOf)\/\d+$/.exec(schemaPath)?.[1];

const orNull = ({ path, message }: Problem): Problem => ({ path, message: message.replace(/\.$/, ' or null.') });

function problemsOf(error: ShapeError): Problem[] {
  const path = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'boolean': // said for each unknown member, with the name that was sent in its path
    case 'additionalProperties': // said once, after them
      return [{ path: '', message: 'Contains an unknown member. Only the documented members can be set.' }];
    case 'required':
      return error.params.requiredProperties.map((name) => ({ path: name, message: 'Is required.' }));
    case 'enum':
      return [{ path, message: `Must be one of: ${error.params.allowedValues.join(', ')}.` }];
    default:
      return [{ path, message: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` }];
  }
}
